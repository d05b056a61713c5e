#include "mpi/ending_communicator.h"

#include "mpi/call_lock.h"
#include "mpi/runtime.h"

namespace spillway::mpi {

EndingCommunicator::EndingCommunicator(Runtime* runtime, MPI_Comm handle) : runtime_(runtime) {
  const CallLock lock;
  if (runtime_ != nullptr) communicator_ = runtime_->communicators.find(handle);
  if (communicator_ != nullptr) PMPI_Comm_get_errhandler(handle, &error_handler_);
}

EndingCommunicator::~EndingCommunicator() {
  const CallLock lock;
  if (communicator_ != nullptr) PMPI_Errhandler_free(&error_handler_);
}

void EndingCommunicator::ended() {
  const CallLock lock;
  if (communicator_ == nullptr) return;
  runtime_->communicators.remove(communicator_);
  for (Traffic traffic : {Traffic::point_to_point, Traffic::collective, Traffic::gathering, Traffic::numbering})
    runtime_->matching.forget(communicator_->context(traffic));
  if (communicator_.use_count() > 1) communicator_->stand_in(error_handler_);
}

}  // namespace spillway::mpi
