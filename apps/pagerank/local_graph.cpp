#include "local_graph.h"

#include <algorithm>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>

namespace apps::pagerank {

namespace {

constexpr uint64_t kMaxPartEdges = std::numeric_limits<uint32_t>::max();

LargeArray<uint64_t> read_checked_offsets(const CsrReader& graph, uint64_t first_row, uint64_t row_count) {
  LargeArray<uint64_t> offsets(row_count + 1);
  graph.read_offsets(first_row, offsets);
  graph.check_offsets(first_row, offsets);
  return offsets;
}

// The columns are read in pieces, once to count and once to sort: the second reading costs little beside the sorting,
// and holding all of them would make loading the graph need half as much memory again as iterating.
template <typename Visit>
void for_each_chunk(const CsrReader& graph, uint64_t first_edge, uint64_t edge_count, const Visit& visit) {
  constexpr uint64_t kChunkColumns = uint64_t{1} << 20;  // 4 MiB: the disk's full rate
  LargeArray<uint32_t> chunk(std::min(edge_count, kChunkColumns));
  for (uint64_t done = 0; done < edge_count;) {
    const std::span<uint32_t> columns(chunk.data(), std::min(edge_count - done, kChunkColumns));
    graph.read_entries(first_edge + done, columns);
    graph.check_columns<uint32_t>(first_edge + done, columns);
    visit(columns);
    done += columns.size();
  }
}

// Where the ghosts with a certain number of edges are, as the places are handed out.
struct GhostClass {
  uint32_t ghost_count = 0;
  uint32_t next_ghost = 0;
  uint32_t next_source = 0;
};

// All classes of one part by number of edges. Small numbers, which nearly all ghosts have, are looked up in an array.
class GhostClasses {
 public:
  GhostClass& of(uint32_t edges) { return edges < kSmall ? small_[edges] : large_[edges]; }

  // In ascending order of edges; only classes that have ghosts.
  template <typename Visit>
  void for_each(const Visit& visit) {
    for (uint32_t edges = 1; edges < kSmall; ++edges) {
      if (small_[edges].ghost_count > 0) {
        visit(edges, small_[edges]);
      }
    }
    for (auto& [edges, ghosts] : large_) {
      visit(edges, ghosts);
    }
  }

 private:
  static constexpr uint32_t kSmall = 1024;
  std::vector<GhostClass> small_ = std::vector<GhostClass>(kSmall);
  std::map<uint32_t, GhostClass> large_;
};

}  // namespace

// The rank's edges sorted by the owner of their target, and within one owner still by source.
struct LocalGraph::OwnerBuckets {
  LargeArray<uint32_t> sources;       // counted from the rank's first row
  LargeArray<uint32_t> targets;       // counted from the owner's first row
  std::vector<uint64_t> first_edges;  // by owner, and one more
  LargeArray<uint32_t> part_sources;  // scratch of group_by_ghost(): copies of one bucket
  LargeArray<uint32_t> part_targets;
};

LocalGraph::LocalGraph(const CsrReader& graph, const RowPartition& partition, int rank)
    : parts_(partition.rank_count()) {
  OwnerBuckets buckets = bucket_edges(graph, partition, rank);
  uint64_t largest_bucket = 0;
  for (int owner = 0; owner < partition.rank_count(); ++owner) {
    largest_bucket = std::max(largest_bucket, buckets.first_edges[owner + 1] - buckets.first_edges[owner]);
  }
  buckets.part_sources = LargeArray<uint32_t>(largest_bucket);
  buckets.part_targets = LargeArray<uint32_t>(largest_bucket);
  for (int owner = 0; owner < partition.rank_count(); ++owner) {
    if (owner > 0) {
      parts_[owner].first_ghost = parts_[owner - 1].first_ghost + parts_[owner - 1].ghost_count;
    }
    group_by_ghost(buckets, owner, partition.row_count(owner));
  }
  sources_ = std::move(buckets.sources);
  ghost_rows_ = std::move(buckets.targets);
}

LocalGraph::OwnerBuckets LocalGraph::bucket_edges(const CsrReader& graph, const RowPartition& partition, int rank) {
  const uint64_t row_count = partition.row_count(rank);
  const LargeArray<uint64_t> offsets = read_checked_offsets(graph, partition.first_row(rank), row_count);
  const uint64_t edge_count = offsets[row_count] - offsets[0];
  const uint64_t first_edge = offsets[0];
  out_degrees_ = LargeArray<uint32_t>(row_count);
  for (uint64_t row = 0; row < row_count; ++row) {
    const uint64_t degree = offsets[row + 1] - offsets[row];
    if (degree > std::numeric_limits<uint32_t>::max()) {
      throw std::runtime_error("row " + std::to_string(partition.first_row(rank) + row) + " has 2^32 edges or more");
    }
    out_degrees_[row] = degree;
  }

  OwnerBuckets buckets;
  buckets.first_edges.resize(partition.rank_count() + 1);
  for_each_chunk(graph, first_edge, edge_count, [&](std::span<const uint32_t> columns) {
    for (uint32_t column : columns) {
      ++buckets.first_edges[partition.owner_of(column) + 1];
    }
  });
  for (int owner = 0; owner < partition.rank_count(); ++owner) {
    if (buckets.first_edges[owner + 1] > kMaxPartEdges) {
      throw std::runtime_error("more than 2^32 edges lead to rank " + std::to_string(owner) + "; use more ranks");
    }
    buckets.first_edges[owner + 1] += buckets.first_edges[owner];
  }
  buckets.sources = LargeArray<uint32_t>(edge_count);
  buckets.targets = LargeArray<uint32_t>(edge_count);
  std::vector<uint64_t> cursors = buckets.first_edges;
  uint64_t row = 0;
  uint64_t edge = first_edge;
  for_each_chunk(graph, first_edge, edge_count, [&](std::span<const uint32_t> columns) {
    for (uint32_t column : columns) {
      while (offsets[row + 1] <= edge) {
        ++row;
      }
      const int owner = partition.owner_of(column);
      const uint64_t place = cursors[owner]++;
      if (place == buckets.first_edges[owner + 1]) {
        throw std::runtime_error("graph file " + graph.path() + " has changed while it was read; run again");
      }
      buckets.sources[place] = row;
      buckets.targets[place] = column - partition.first_row(owner);
      ++edge;
    }
  });
  return buckets;
}

// Orders one owner's bucket as described at the top of the header, in place: its sources stay where the bucket was, its
// ghosts' rows are moved together behind those of the owners before.
void LocalGraph::group_by_ghost(OwnerBuckets& buckets, int owner, uint64_t owner_rows) {
  OwnerPart& part = parts_[owner];
  uint32_t* const sources = buckets.sources.data() + buckets.first_edges[owner];
  const uint32_t* const targets = buckets.targets.data() + buckets.first_edges[owner];
  const uint64_t edge_count = buckets.first_edges[owner + 1] - buckets.first_edges[owner];
  std::copy_n(sources, edge_count, buckets.part_sources.data());
  std::copy_n(targets, edge_count, buckets.part_targets.data());
  const std::span<const uint32_t> part_targets(buckets.part_targets.data(), edge_count);

  LargeArray<uint32_t> edges_of_row(owner_rows, 0);
  for (uint32_t row : part_targets) {
    ++edges_of_row[row];
  }
  GhostClasses classes;
  for (uint32_t edges : edges_of_row) {
    if (edges > 0) {
      ++classes.of(edges).ghost_count;
    }
  }
  part.first_source = buckets.first_edges[owner];
  part.first_run = runs_.size();
  uint32_t next_source = 0;
  classes.for_each([&](uint32_t edges, GhostClass& ghosts) {
    runs_.push_back({edges, ghosts.ghost_count});
    ghosts.next_ghost = part.ghost_count;
    ghosts.next_source = next_source;
    part.ghost_count += ghosts.ghost_count;
    next_source += edges * ghosts.ghost_count;
  });
  part.run_count = runs_.size() - part.first_run;

  uint32_t* const ghost_rows = buckets.targets.data() + part.first_ghost;
  LargeArray<uint32_t>& next_source_of_row = edges_of_row;  // from here on
  for (uint64_t row = 0; row < owner_rows; ++row) {
    const uint32_t edges = edges_of_row[row];
    if (edges > 0) {
      GhostClass& ghosts = classes.of(edges);
      ghost_rows[ghosts.next_ghost++] = row;
      next_source_of_row[row] = ghosts.next_source;
      ghosts.next_source += edges;
    }
  }
  for (uint64_t edge = 0; edge < edge_count; ++edge) {
    sources[next_source_of_row[part_targets[edge]]++] = buckets.part_sources[edge];
  }
}

}  // namespace apps::pagerank
