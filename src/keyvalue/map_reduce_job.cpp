#include "keyvalue/map_reduce_job.h"

#include <utility>

#include "base/clock.h"

namespace spillway::keyvalue {
namespace {
constexpr int kTag = 1;
}  // namespace

MapReduceJob::MapReduceJob(MPI_D_Mode mode, const Configuration& configuration) : Job(mode, configuration) {
  if (is_common()) {
    refuse_checkpoint("common");
    be_only_task();
  }
  if (configuration_.checkpoint_directory.empty()) return;
  checkpoint_ = std::make_unique<MapReduceCheckpoint>(communicator_, placement_, configuration_);
  gathers_.emplace(checkpoint_->directory(), checkpoint_->is_restored());
}

void MapReduceJob::begin() {
  if (is_begun()) return;
  mark_begun();
  if (placement_.has_a_tasks(placement_.process()))
    store_ = std::make_unique<shuffle::RunStore>(
        shuffle::RunStore::Settings{static_cast<uint32_t>(placement_.a_tasks()), configuration_.memory_bytes,
                                    configuration_.spill_directories},
        order_, combiner_);
  shuffle_ = std::make_unique<RecordShuffle>(communicator_, kTag, placement_.to_a_tasks(),
                                             configuration_.partition_bytes, order_, combiner_);
  shuffle_->begin(store_.get());
  if (checkpoint_) begin_from_checkpoint();
}

void MapReduceJob::begin_from_checkpoint() {
  gathers_->commit();
  if (control_ && placement_.process() == 0) control_->tell_done(checkpoint_->o_tasks_done(), a_tasks_done());
  MPI_Barrier(communicator_);  // nobody is given one of these, or keeps something before that is on the disk
  for (KeptRun& kept : checkpoint_->runs(shuffle_->route()))
    store_->deliver(placement_.process(), kept.partition, std::move(kept.run));
  checkpoint_->send_again([this](const shuffle::BlockHeader& header, const char* block) {
    shuffle_->send_block(header, block);
    report_sometimes();
  });
  shuffle_->show_lists_to([this](shuffle::SortedList& list) { checkpoint_->keep(list); },
                          [this](const shuffle::SortedList& list) { checkpoint_->release(list); });
}

std::vector<int> MapReduceJob::a_tasks_done() const {
  std::vector<int> tasks;
  for (int task = 0; task < placement_.a_tasks(); ++task)
    if (checkpoint_->is_a_task_done(task)) tasks.push_back(task);
  return tasks;
}

int MapReduceJob::next_o_task() {
  if (control_) return control_->next_task();
  for (;;) {
    const int task = placement_.next_own_o_task(next_task_);
    if (task == placement_.o_tasks()) return -1;
    next_task_ = task + 1;
    if (!checkpoint_ || !checkpoint_->is_o_task_done(task)) return task;
  }
}

bool MapReduceJob::begin_o_task() {
  const int task = next_o_task();
  if (task < 0) return false;
  begin_task(Side::o, task);
  return true;
}

bool MapReduceJob::begin_a_task() {
  int task = placement_.next_own_a_task(next_task_);
  while (task < placement_.a_tasks() && checkpoint_ && checkpoint_->is_a_task_done(task))
    task = placement_.next_own_a_task(task + 1);
  if (task == placement_.a_tasks()) return false;
  next_task_ = task + 1;
  begin_task(Side::a, task);
  open_records(*store_, task);
  return true;
}

void MapReduceJob::end_task() {
  if (side_ == Side::o) {
    ++figures_.o_tasks;
    if (checkpoint_) checkpoint_->o_task_ended(task_);
  }
  if (side_ == Side::a) {
    if (phase_ == Phase::o) end_o_phase();  // it has not asked for a record
    records_.reset();
    store_->close(static_cast<uint32_t>(task_));
    ++figures_.a_tasks;
    if (checkpoint_) checkpoint_->a_task_ended(task_);
  }
  side_ = Side::none;
}

bool MapReduceJob::next_task() {
  begin();
  if (is_common()) {
    if (!std::exchange(has_begun_only_task_, true)) return true;
    end_task();
    return false;
  }
  end_task();
  if (phase_ == Phase::o) {
    shuffle_->progress();
    report_sometimes();
    if (checkpoint_ && checkpoint_->is_commit_due()) {
      shuffle_->send_gathered();
      checkpoint_->commit();
    }
    if (begin_o_task()) return true;
    end_o_phase();
  }
  report_sometimes();
  return phase_ == Phase::a && begin_a_task();
}

void MapReduceJob::send(const void* key, const void* value) {
  if (!is_begun()) [[unlikely]]
    begin();
  emit(*shuffle_, placement_.a_tasks(), key, value);
}

void MapReduceJob::end_o_phase() {
  begin();
  shuffle_->end_sending();
  if (checkpoint_) checkpoint_->commit();
  shuffle_->finish([this] { report_sometimes(); });
  if (checkpoint_) {
    checkpoint_->finish_commits();
    MPI_Barrier(communicator_);  // no A task ends before all that it has come from is kept
  }
  figures_ = current_figures();
  shuffle_.reset();
  if (store_) store_->finish();
  phase_ = Phase::a;
  next_task_ = 0;
  a_begin_ns_ = base::now_ns();
  figures_.o_ns = a_begin_ns_ - begin_ns_;
}

bool MapReduceJob::receive(const void*& key, const void*& value) {
  if (phase_ == Phase::o) {  // the common mode
    end_o_phase();
    open_records(*store_, task_);
  }
  return next_record(key, value);
}

Figures MapReduceJob::current_figures() const {
  Figures figures = figures_;
  if (shuffle_) {
    figures.shuffled_records = shuffle_->figures().shuffled_records;
    figures.sent_bytes = shuffle_->figures().sent_bytes;
  }
  if (store_) figures.spilled_bytes = store_->spilled_bytes();
  if (phase_ == Phase::a) figures.a_ns = base::now_ns() - a_begin_ns_;
  return figures;
}

void MapReduceJob::finish() {
  if (!is_common() && side_ != Side::none && next_task()) refuse_left_tasks();
  if (side_ == Side::o) end_task();
  if (phase_ == Phase::o) end_o_phase();
  end_task();
  complete();
  if (checkpoint_) checkpoint_->remove_all();
  phase_ = Phase::over;
}

}  // namespace spillway::keyvalue
