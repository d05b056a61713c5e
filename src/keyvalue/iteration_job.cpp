#include "keyvalue/iteration_job.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "keyvalue/broadcast_bytes.h"
#include "keyvalue/failure.h"

namespace spillway::keyvalue {
namespace {

constexpr int kTagToA = 1;
constexpr int kTagToO = 3;

}  // namespace

IterationJob::IterationJob(const Configuration& configuration) : Job(MPI_D_MODE_ITERATION, configuration) {
  phase_begin_ns_ = base::now_ns();
  if (configuration_.checkpoint_directory.empty()) return;
  checkpoint_ = std::make_unique<RoundCheckpoint>(communicator_, placement_, configuration_);
  is_round_restored_ = checkpoint_->last_round() >= 0;
  gathers_.emplace(checkpoint_->directory(), is_round_restored_);
  if (is_round_restored_) round_ = checkpoint_->last_round();
}

IterationJob::~IterationJob() {
  if (node_ != MPI_COMM_NULL) MPI_Comm_free(&node_);
}

// What O tasks read, what comes for A tasks, and what a machine reduces are in use at a time.
std::unique_ptr<shuffle::RunStore> IterationJob::new_store(const Route& route) const {
  if (!route.receives(route.process)) return nullptr;
  return std::make_unique<shuffle::RunStore>(
      shuffle::RunStore::Settings{route.partition_count,
                                  std::max<uint64_t>(configuration_.memory_bytes / (in_node_ ? 3 : 2), 1 << 20),
                                  configuration_.spill_directories},
      order_, route.has_driver_partition ? no_combiner_ : combiner_);
}

void IterationJob::begin() {
  if (is_begun()) return;
  mark_begun();
  if (gathers_) gathers_->commit();
  prepare_reduction();
  const size_t list_bytes = configuration_.partition_bytes;
  const Route to_a = placement_.to_a_tasks();
  to_a_ = std::make_unique<RecordShuffle>(communicator_, kTagToA, to_a, list_bytes, order_,
                                          in_node_ ? no_combiner_ : combiner_);
  to_o_ = std::make_unique<RecordShuffle>(communicator_, kTagToO, placement_.to_o_tasks_and_driver(), list_bytes,
                                          order_, no_combiner_);
  if (is_round_restored_) {
    restore_round();
  } else {
    begin_round();
  }
  if (checkpoint_)
    to_o_->show_lists_to([this](shuffle::SortedList& list) { checkpoint_->keep(list); },
                         [this](const shuffle::SortedList& list) { checkpoint_->release(list); });
}

// The last round that was complete is over when the program begins, with all that its A tasks sent.
void IterationJob::restore_round() {
  o_store_ = new_store(to_o_->route());
  to_o_->begin(o_store_.get());
  checkpoint_->send_again(
      [this](const shuffle::BlockHeader& header, const char* block) { to_o_->send_block(header, block); });
  phase_ = Phase::a;
  next_task_ = placement_.a_tasks();
}

void IterationJob::prepare_reduction() {
  if (!combiner_) return;
  const int process = placement_.process();
  if (configuration_.reduction_group == 0) {
    MPI_Comm_split_type(communicator_, MPI_COMM_TYPE_SHARED, process, MPI_INFO_NULL, &node_);
  } else {
    MPI_Comm_split(communicator_, process / configuration_.reduction_group, process, &node_);
  }
  Route route{0, 0, 0, 0, 0, static_cast<uint32_t>(placement_.a_tasks())};
  MPI_Comm_rank(node_, &route.process);
  MPI_Comm_size(node_, &route.process_count);
  int most_here = 0;
  MPI_Allreduce(&route.process_count, &most_here, 1, MPI_INT, MPI_MAX, communicator_);
  if (most_here == placement_.process_count()) return;                      // nothing goes to another node
  if (most_here == 1 && !placement_.has_process_several_o_tasks()) return;  // a node has one task
  route.sender_count = route.process_count;
  route.receiver_count = std::min(route.process_count, placement_.a_tasks());
  in_node_ = std::make_unique<RecordShuffle>(node_, kTagToA, route, configuration_.partition_bytes, order_, combiner_);
}

void IterationJob::begin_round() {
  phase_ = Phase::o;
  next_task_ = 0;
  phase_begin_ns_ = base::now_ns();
  if (in_node_) {
    node_store_ = new_store(in_node_->route());
    in_node_->begin(node_store_.get());
  }
  if (checkpoint_) checkpoint_->begin_round(round_);
  a_store_ = new_store(to_a_->route());
  to_a_->begin(a_store_.get());
}

bool IterationJob::begin_own_task(Side side, int task, int tasks, shuffle::RunStore* store) {
  if (task == tasks) return false;
  begin_task(side, task);
  next_task_ = task + 1;
  if (store != nullptr) open_records(*store, task);
  return true;
}

void IterationJob::end_task() {
  if (side_ == Side::none) return;
  records_.reset();
  const std::unique_ptr<shuffle::RunStore>& store = side_ == Side::o ? o_store_ : a_store_;
  if (store) store->close(static_cast<uint32_t>(task_));
  ++(side_ == Side::o ? figures_.o_tasks : figures_.a_tasks);
  side_ = Side::none;
}

bool IterationJob::next_task() {
  begin();
  end_task();
  report_sometimes();
  if (phase_ == Phase::o) {
    (in_node_ ? in_node_ : to_a_)->progress();
    if (begin_own_task(Side::o, placement_.next_own_o_task(next_task_), placement_.o_tasks(), o_store_.get()))
      return true;
    end_o_phase();
  }
  if (phase_ == Phase::a) {
    to_o_->progress();
    if (begin_own_task(Side::a, placement_.next_own_a_task(next_task_), placement_.a_tasks(), a_store_.get()))
      return true;
    end_a_phase();
  }
  return false;
}

// What the tasks of this node have for the A tasks that are this process's to send for.
void IterationJob::send_reduced() {
  in_node_->finish([this] { report_sometimes(); });
  if (!node_store_) return;
  node_store_->finish();
  const Route& route = in_node_->route();
  for (uint32_t partition = 0; partition < route.partition_count; ++partition) {
    if (route.process_of(partition) != route.process) continue;
    {
      shuffle::RunMerge reduced = node_store_->open(partition);
      for (shuffle::Record record; reduced.next(record);) to_a_->send(partition, 0, record);
    }
    node_store_->close(partition);
  }
  count_spills(node_store_);
  node_store_.reset();
}

void IterationJob::count_spills(const std::unique_ptr<shuffle::RunStore>& store) {
  if (store) spilled_bytes_ += store->spilled_bytes();
}

void IterationJob::end_o_phase() {
  if (in_node_) send_reduced();
  to_a_->finish([this] { report_sometimes(); });
  if (a_store_) a_store_->finish();
  const uint64_t now = base::now_ns();
  figures_.o_ns += now - std::exchange(phase_begin_ns_, now);
  count_spills(o_store_);
  o_store_ = new_store(to_o_->route());
  to_o_->begin(o_store_.get());
  phase_ = Phase::a;
  next_task_ = 0;
}

void IterationJob::end_a_phase() {
  to_o_->finish([this] { report_sometimes(); });
  if (o_store_) o_store_->finish();
  count_spills(a_store_);
  a_store_.reset();
  const uint64_t now = base::now_ns();
  figures_.a_ns += now - std::exchange(phase_begin_ns_, now);
  ++figures_.rounds;
  phase_ = Phase::between;
  if (is_driver()) open_records(*o_store_, placement_.o_tasks());
}

bool IterationJob::next_round(bool goes_on) {
  begin();
  if (phase_ == Phase::over) return false;
  if (phase_ != Phase::between)
    throw Failure(MPI_D_ERR_STATE, "MPI_D_Next_round() called while this round has tasks",
                  "call it when MPI_D_Next_task() has returned 0");
  if (records_) {
    records_.reset();
    o_store_->close(static_cast<uint32_t>(placement_.o_tasks()));
  }
  // Nobody may send what is of the next round before all have received what is of this one.
  int answer = goes_on && is_driver() ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &answer, 1, MPI_INT, MPI_MAX, communicator_);
  if (answer == 0) {
    phase_ = Phase::over;
    return false;
  }
  if (checkpoint_ && !std::exchange(is_round_restored_, false)) checkpoint_->commit(broadcasts_);
  broadcasts_.clear();
  ++round_;
  begin_round();
  return true;
}

void IterationJob::send(const void* key, const void* value) {
  if (side_ == Side::o) {
    emit(in_node_ ? *in_node_ : *to_a_, placement_.a_tasks(), key, value);
  } else {
    emit(*to_o_, placement_.o_tasks(), key, value);
  }
}

void IterationJob::send_to_driver(const void* key, const void* value) {
  if (side_ != Side::a)
    throw Failure(MPI_D_ERR_COMM, "MPI_D_Send_to_driver() is for A tasks",
                  "send from O to A tasks with MPI_D_Send(), and from there to the driver");
  emit_to(*to_o_, static_cast<uint32_t>(placement_.o_tasks()), key, value);
}

bool IterationJob::receive(const void*& key, const void*& value) { return next_record(key, value); }

void IterationJob::broadcast(MPI_D_Bytes& bytes) {
  if (side_ != Side::none)
    throw Failure(MPI_D_ERR_STATE, "MPI_D_Bcast() called in a task",
                  "call it before the first task of a round or after the last one, in every process");
  if (is_round_restored_ && restored_broadcasts_ < checkpoint_->broadcasts().size()) {
    broadcast_ = checkpoint_->broadcasts()[restored_broadcasts_++];
  } else {
    if (is_driver()) broadcast_.assign(static_cast<const char*>(bytes.data), bytes.size);
    broadcast_bytes(communicator_, 0, broadcast_);
    if (checkpoint_ && is_driver()) broadcasts_.push_back(broadcast_);
  }
  bytes = {broadcast_.data(), broadcast_.size()};
}

Figures IterationJob::current_figures() const {
  Figures figures = figures_;
  for (const RecordShuffle* shuffle : {to_a_.get(), to_o_.get()}) {
    if (shuffle == nullptr) continue;
    figures.shuffled_records += shuffle->figures().shuffled_records;
    figures.sent_bytes += shuffle->figures().sent_bytes;
  }
  figures.spilled_bytes = spilled_bytes_;
  for (const shuffle::RunStore* store : {a_store_.get(), o_store_.get(), node_store_.get()})
    if (store != nullptr) figures.spilled_bytes += store->spilled_bytes();
  return figures;
}

// Whoever ends before a round's first task still takes part in it.
void IterationJob::finish() {
  begin();
  if (side_ != Side::none && next_task()) refuse_left_tasks();
  end_task();
  if (phase_ == Phase::o) end_o_phase();
  if (phase_ == Phase::a) end_a_phase();
  records_.reset();
  complete();
  if (checkpoint_) checkpoint_->remove_all();
  phase_ = Phase::over;
  side_ = Side::none;
}

}  // namespace spillway::keyvalue
