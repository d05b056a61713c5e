#include "node/segment.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/error.h"

namespace spillway::node {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kLeastCells = 1 << 18;           // 64 MiB when all are in flight at once
constexpr uint64_t kCellsPerPair = 16;              // so many rounds of messages from each rank to each
constexpr uint64_t kLeastStoreBytes = 64ull << 20;  // address space only: pages exist once used

uint64_t round_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

uint64_t pool_table_bytes(uint64_t chunk_count) {
  const uint64_t bitmap_bytes = round_up(chunk_count, 64) / 8;
  return round_up(kPage + 2 * bitmap_bytes + chunk_count * 4 * sizeof(uint32_t), kPage);
}

void initialise_shared_mutex(pthread_mutex_t& mutex) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

void lock_shared_mutex(pthread_mutex_t& mutex) {
  const int result = pthread_mutex_lock(&mutex);
  if (result == EOWNERDEAD) pthread_mutex_consistent(&mutex);
  SPILLWAY_CHECK(result == 0 || result == EOWNERDEAD);
}

NodeLock::NodeLock(SegmentHeader& header) : mutex_(header.lock) { lock_shared_mutex(mutex_); }
NodeLock::NodeLock(SegmentHeader& header, std::try_to_lock_t) : mutex_(header.lock) {
  const int result = pthread_mutex_trylock(&mutex_);
  if (result == EOWNERDEAD) pthread_mutex_consistent(&mutex_);
  is_held_ = result == 0 || result == EOWNERDEAD;
}
NodeLock::~NodeLock() {
  if (is_held_) pthread_mutex_unlock(&mutex_);
}

Segment Segment::create(const SegmentConfig& config) {
  const uint64_t store_bytes = std::max(config.budget_bytes / 2, kLeastStoreBytes);
  std::vector<RankPlace> places = config.places;
  if (places.empty())
    for (uint32_t i = 0; i < config.rank_count; ++i) places.push_back(RankPlace{config.node_index, i});
  SegmentHeader layout{};
  layout.rank_count = config.rank_count;
  layout.memory_chunk_count = std::min<uint64_t>(store_bytes / kMemoryChunkBytes, kNoIndex - 1);
  layout.spill_chunk_count = std::min<uint64_t>(config.spill_capacity_bytes / kSpillChunkBytes, 1u << 24);
  layout.cell_count = std::max(kLeastCells, kCellsPerPair * config.rank_count * config.rank_count);
  layout.places_offset = sizeof(SegmentHeader);
  layout.ranks_offset = round_up(layout.places_offset + places.size() * sizeof(RankPlace), kPage);
  layout.cells_offset = round_up(layout.ranks_offset + (config.rank_count + 1) * sizeof(RankRecord), kPage);
  layout.memory_pool_offset = layout.cells_offset + layout.cell_count * kCellBytes;
  layout.spill_pool_offset = layout.memory_pool_offset + pool_table_bytes(layout.memory_chunk_count);
  layout.chunks_offset = round_up(layout.spill_pool_offset + pool_table_bytes(layout.spill_chunk_count), 2 << 20);
  layout.segment_bytes = layout.chunks_offset + layout.memory_chunk_count * kMemoryChunkBytes;
  if (config.keeps_checksums) {
    layout.checksums_offset = round_up(layout.segment_bytes, kPage);
    layout.segment_bytes = layout.checksums_offset + layout.spill_chunk_count * (kSpillChunkBytes / kPage) * 8;
  }

  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && layout.segment_bytes > limit.rlim_cur)
    base::fatal(
        "cannot make the node's shared segment of %llu MiB\n"
        "  Cause:  files may not grow that large for this user (ulimit -f).\n"
        "  Remedy: raise the limit, ask for less with --memory, or save 2 GiB of it with --no-checksums.",
        static_cast<unsigned long long>(layout.segment_bytes >> 20));
  const int descriptor = memfd_create("spillway-node", MFD_CLOEXEC);
  if (descriptor < 0 || ftruncate(descriptor, static_cast<off_t>(layout.segment_bytes)) != 0)
    base::fatal("cannot make the node's shared segment: %s", strerror(errno));
  void* base = mmap(nullptr, layout.segment_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  if (base == MAP_FAILED)
    base::fatal("cannot map the node's shared segment of %llu MiB: %s",
                static_cast<unsigned long long>(layout.segment_bytes >> 20), strerror(errno));

  auto* header = new (base) SegmentHeader{};
  header->magic = kSegmentMagic;
  header->version = kSegmentVersion;
  header->segment_bytes = layout.segment_bytes;
  header->rank_count = config.rank_count;
  header->world_size = static_cast<uint32_t>(places.size());
  header->node_count = config.node_count;
  header->node_index = config.node_index;
  header->slot_count = config.slot_count;
  header->budget_bytes = config.budget_bytes;
  header->strategy = config.strategy;
  header->minimum_managed_bytes = config.minimum_managed_bytes;
  header->cpu_count = config.cpu_count;
  header->places_offset = layout.places_offset;
  header->ranks_offset = layout.ranks_offset;
  header->cells_offset = layout.cells_offset;
  header->cell_count = layout.cell_count;
  header->memory_pool_offset = layout.memory_pool_offset;
  header->spill_pool_offset = layout.spill_pool_offset;
  header->chunks_offset = layout.chunks_offset;
  header->checksums_offset = layout.checksums_offset;
  header->memory_chunk_count = layout.memory_chunk_count;
  header->spill_chunk_count = layout.spill_chunk_count;
  initialise_shared_mutex(header->lock);
  header->free_slots = config.slot_count;
  header->free_cells = kNoIndex;
  header->critical_rank = kNoIndex;
  header->next_rank = kNoIndex;
  Segment segment(descriptor, static_cast<std::byte*>(base), layout.segment_bytes);
  std::copy(places.begin(), places.end(), reinterpret_cast<RankPlace*>(segment.at(layout.places_offset)));
  for (uint32_t i = 0; i <= config.rank_count; ++i) {
    auto* record = new (&segment.rank(i)) RankRecord{};
    record->mailbox_head = kNoIndex;
    record->world_rank = -1;
  }
  for (uint64_t offset : {layout.memory_pool_offset, layout.spill_pool_offset})
    initialise_shared_mutex(*reinterpret_cast<pthread_mutex_t*>(segment.at(offset)));
  return segment;
}

Segment Segment::attach(int descriptor, std::string& problem) {
  Segment none(descriptor, nullptr, 0);
  struct stat status {};
  if (fstat(descriptor, &status) != 0 || static_cast<uint64_t>(status.st_size) < sizeof(SegmentHeader)) {
    problem = "the descriptor of the node's segment is not usable";
    return none;
  }
  const auto bytes = static_cast<uint64_t>(status.st_size);
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  if (base == MAP_FAILED) {
    problem = std::string("cannot map the node's segment: ") + strerror(errno);
    return none;
  }
  Segment segment(descriptor, static_cast<std::byte*>(base), bytes);
  none.descriptor_ = -1;
  const SegmentHeader& header = segment.header();
  if (header.magic != kSegmentMagic || header.version != kSegmentVersion || header.segment_bytes != bytes) {
    problem = "the node's segment was made by another version of Spillway";
    return Segment(-1, nullptr, 0);
  }
  return segment;
}

Segment::Segment(Segment&& other) noexcept { *this = std::move(other); }

Segment& Segment::operator=(Segment&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Segment::~Segment() {
  if (base_ != nullptr) munmap(base_, bytes_);
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace spillway::node
