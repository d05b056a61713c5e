// Point-to-point communication (MPI 4.1, chapter 3). All sends are buffered, as in BDMPI 5.3: the sender never waits
// for the receiver, but for the synchronous mode. Arguments are checked by the callers.
#pragma once

#include "mpi/request.h"

namespace spillway::mpi {

class Runtime;

int send(Runtime& runtime, const CommunicatorRef& comm, const TypedBuffer& buffer, int destination, int tag,
         SendMode mode);

int receive(Runtime& runtime, const CommunicatorRef& comm, const TypedBuffer& buffer, int source, int tag,
            MPI_Status* status);

// Fills a request for an operation; start() sets it going, once or, if it is persistent, again and again.
void prepare_send(Request& request, const CommunicatorRef& comm, const TypedBuffer& buffer, int destination, int tag,
                  SendMode mode);
void prepare_receive(Request& request, const CommunicatorRef& comm, const TypedBuffer& buffer, int source, int tag);
void start(Runtime& runtime, Request& request);

// True if complete() will not have to wait. Touches no user memory.
bool can_complete(const Runtime& runtime, const Request& request);

// Moves the data and makes the outcome final. REQUIRES: can_complete(), and the rank holds a slot.
void complete(Runtime& runtime, Request& request);

// Sends and receives at once (MPI_Sendrecv); the buffers may be the same only for `replace`.
int send_receive(Runtime& runtime, const CommunicatorRef& comm, const TypedBuffer& out, int destination, int send_tag,
                 const TypedBuffer& in, int source, int receive_tag, MPI_Status* status);

// Withdraws a receive that has not been matched. A synchronous send is called back, and its receiver says whether it
// was in time; any other one is complete when it is on its way.
void cancel(Runtime& runtime, Request& request);

// Delivers what has come for receives that the program has given up with MPI_Request_free.
void complete_orphans(Runtime& runtime);

// One line for the deadlock report.
void describe(const Request& request, char* text, size_t size);

}  // namespace spillway::mpi
