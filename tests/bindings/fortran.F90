! One program for the three Fortran bindings of MPI: the words that differ between them.
!   -DBINDING_MPIF   include 'mpif.h'
!   -DBINDING_MPI    use mpi
!   -DBINDING_F08    use mpi_f08
! Checks itself: each rank compares what it has received with what the others must have sent, and ends the job at the
! first difference. Its arrays are of all kinds that Fortran programs keep data in: allocatable, of a module, in a COMMON
! block. Argument: mebibytes of data per rank (default 1).
#ifdef BINDING_F08
#define IMPORT_MPI use mpi_f08
#define INCLUDE_MPI
#define COMMUNICATOR type(MPI_Comm)
#define REQUEST type(MPI_Request)
#define DATATYPE type(MPI_Datatype)
#define OPERATION type(MPI_Op)
#define WINDOW type(MPI_Win)
#define STATUS(name) type(MPI_Status) :: name
#define STATUSES(name, n) type(MPI_Status) :: name(n)
#define SOURCE_OF(status) status%MPI_SOURCE
#define TAG_OF(status) status%MPI_TAG
#else
#define COMMUNICATOR integer
#define REQUEST integer
#define DATATYPE integer
#define OPERATION integer
#define WINDOW integer
#define STATUS(name) integer :: name(MPI_STATUS_SIZE)
#define STATUSES(name, n) integer :: name(MPI_STATUS_SIZE, n)
#define SOURCE_OF(status) status(MPI_SOURCE)
#define TAG_OF(status) status(MPI_TAG)
#ifdef BINDING_MPI
#define IMPORT_MPI use mpi
#define INCLUDE_MPI
#else
#define IMPORT_MPI
#define INCLUDE_MPI include 'mpif.h'
#endif
#endif

module checks
  implicit none
  integer :: made = 0, rank = 0, ranks = 0
  integer :: module_array(64)

contains

  subroutine check(holds, what)
    IMPORT_MPI
    INCLUDE_MPI
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    integer :: ierr
    made = made + 1
    if (holds) return
    write (0, '(a,i0,2a)') 'rank ', rank, ': wrong: ', what
    call MPI_Abort(MPI_COMM_WORLD, 9, ierr)
  end subroutine

  ! Not commutative: the last operand that is not zero.
  subroutine last_not_zero(in, inout, n, kind)
    IMPORT_MPI
    INCLUDE_MPI
#ifdef BINDING_F08
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    type(c_ptr), value :: in, inout
    integer :: n
    type(MPI_Datatype) :: kind
    integer, pointer :: from(:), to(:)
    integer :: i
    call c_f_pointer(in, from, [n])
    call c_f_pointer(inout, to, [n])
    do i = 1, n
      if (to(i) == 0) to(i) = from(i)
    end do
#else
    integer :: n, kind, i
    integer :: in(n), inout(n)
    do i = 1, n
      if (inout(i) == 0) inout(i) = in(i)
    end do
#endif
  end subroutine

  subroutine point_to_point()
    IMPORT_MPI
    INCLUDE_MPI
    integer :: next, previous, ierr, count, i, index, common_array(128), done(2), done_count
    common /shared_block/ common_array
    REQUEST :: requests(2), persistent
    STATUS(one)
    STATUSES(two, 2)
    logical :: flag
    next = mod(rank + 1, ranks)
    previous = mod(rank + ranks - 1, ranks)

    common_array = rank
    call MPI_Irecv(module_array, 64, MPI_INTEGER, previous, 7, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Isend(common_array, 64, MPI_INTEGER, next, 7, MPI_COMM_WORLD, requests(2), ierr)
    call MPI_Waitall(2, requests, two, ierr)
    call check(ierr == MPI_SUCCESS .and. all(module_array == previous), 'a ring of a COMMON block into a module array')
#ifdef BINDING_F08
    call check(two(1)%MPI_SOURCE == previous .and. two(1)%MPI_TAG == 7, 'statuses of MPI_Waitall')
#else
    call check(two(MPI_SOURCE, 1) == previous .and. two(MPI_TAG, 1) == 7, 'statuses of MPI_Waitall')
#endif

    call MPI_Sendrecv(rank, 1, MPI_INTEGER, next, 8, i, 1, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, &
                      MPI_COMM_WORLD, one, ierr)
    call check(i == previous .and. SOURCE_OF(one) == previous .and. TAG_OF(one) == 8, 'MPI_Sendrecv from anybody')

    call MPI_Isend(common_array, 5, MPI_INTEGER, next, 9, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Probe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, one, ierr)
    call MPI_Get_count(one, MPI_INTEGER, count, ierr)
    call check(count == 5, 'count of a probed message')
    call MPI_Recv(module_array, count, MPI_INTEGER, SOURCE_OF(one), 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierr)
    call check(requests(1) == MPI_REQUEST_NULL, 'a request that was waited for')

    call MPI_Recv_init(module_array, 1, MPI_INTEGER, previous, 10, MPI_COMM_WORLD, persistent, ierr)
    do i = 1, 3
      call MPI_Start(persistent, ierr)
      call MPI_Send(i * 100 + rank, 1, MPI_INTEGER, next, 10, MPI_COMM_WORLD, ierr)
      flag = .false.
      do while (.not. flag)
        call MPI_Test(persistent, flag, one, ierr)
      end do
      call check(module_array(1) == i * 100 + previous, 'a persistent receive')
    end do
    call MPI_Request_free(persistent, ierr)

    call MPI_Irecv(module_array(1), 1, MPI_INTEGER, previous, 11, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Irecv(module_array(2), 1, MPI_INTEGER, MPI_PROC_NULL, 11, MPI_COMM_WORLD, requests(2), ierr)
    call MPI_Ssend(rank, 0, MPI_INTEGER, MPI_PROC_NULL, 11, MPI_COMM_WORLD, ierr)
    call MPI_Waitany(2, requests, index, MPI_STATUS_IGNORE, ierr)
    call check(requests(1) /= MPI_REQUEST_NULL .and. requests(2) == MPI_REQUEST_NULL, 'MPI_PROC_NULL is complete')
#ifndef BINDING_F08
    call check(index == 2, 'MPI_Waitany counts from 1')  ! but from 0 in mpi_f08 of MPICH 4.0, as MPI_Waitsome does
#endif
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    call MPI_Send(rank, 1, MPI_INTEGER, next, 11, MPI_COMM_WORLD, ierr)
    call MPI_Waitsome(2, requests, done_count, done, MPI_STATUSES_IGNORE, ierr)
    call check(done_count == 1 .and. module_array(1) == previous, 'MPI_Waitsome')
#ifndef BINDING_F08
    call check(done(1) == 1, 'MPI_Waitsome counts from 1')
#endif
  end subroutine

  subroutine collectives()
    IMPORT_MPI
    INCLUDE_MPI
    integer :: ierr, i, mine(2), sums(2), part
    integer, allocatable :: gathered(:), exchanged(:)
    OPERATION :: operation
    REQUEST :: nonblocking
    allocate (gathered(2 * ranks), exchanged(ranks))

    mine = [rank, 2 * rank]
    call MPI_Allreduce(MPI_IN_PLACE, mine, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call check(all(mine == [1, 2] * (ranks * (ranks - 1) / 2)), 'MPI_Allreduce in place')

    part = merge(0, rank + 1, rank == ranks - 1 .and. ranks > 1)
    call MPI_Op_create(last_not_zero, .false., operation, ierr)
    call MPI_Reduce(part, sums, 1, MPI_INTEGER, operation, 0, MPI_COMM_WORLD, ierr)
    if (rank == 0) call check(sums(1) == max(1, ranks - 1), 'an operation written in Fortran, in rank order')
    call MPI_Op_free(operation, ierr)

    mine = [rank, -rank]
    call MPI_Allgather(mine, 2, MPI_INTEGER, gathered, 2, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    call check(all(gathered == [((/i, -i/), i=0, ranks - 1)]), 'MPI_Allgather')

    gathered(1:ranks) = [(rank * 1000 + i, i=0, ranks - 1)]
    call MPI_Alltoall(gathered, 1, MPI_INTEGER, exchanged, 1, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    call check(all(exchanged == [(i * 1000 + rank, i=0, ranks - 1)]), 'MPI_Alltoall')

    call MPI_Scan(rank, part, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call check(part == rank * (rank + 1) / 2, 'MPI_Scan')

    part = merge(4711, 0, rank == ranks - 1)
    call MPI_Ibcast(part, 1, MPI_INTEGER, ranks - 1, MPI_COMM_WORLD, nonblocking, ierr)
    call MPI_Wait(nonblocking, MPI_STATUS_IGNORE, ierr)
    call check(part == 4711, 'MPI_Ibcast')
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
  end subroutine

  subroutine datatypes()
    IMPORT_MPI
    INCLUDE_MPI
    integer :: ierr, i, j, next, previous
    integer(MPI_ADDRESS_KIND) :: places(2)
    real(8) :: matrix(6, 5), column(5)
    integer :: first, second, both(2)
    DATATYPE :: row, pair
    next = mod(rank + 1, ranks)
    previous = mod(rank + ranks - 1, ranks)
    do j = 1, 5
      matrix(:, j) = [(rank * 100d0 + i * 10 + j, i=1, 6)]
    end do
    call MPI_Type_vector(5, 1, 6, MPI_DOUBLE_PRECISION, row, ierr)
    call MPI_Type_commit(row, ierr)
    call MPI_Sendrecv(matrix(3, 1), 1, row, next, 1, column, 5, MPI_DOUBLE_PRECISION, previous, 1, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE, ierr)
    call check(all(column == [(previous * 100d0 + 30 + j, j=1, 5)]), 'a row of a matrix')
    call MPI_Type_free(row, ierr)

    first = rank
    second = -rank
    call MPI_Get_address(first, places(1), ierr)
    call MPI_Get_address(second, places(2), ierr)
    call MPI_Type_create_hindexed(2, [1, 1], places, MPI_INTEGER, pair, ierr)
    call MPI_Type_commit(pair, ierr)
    call MPI_Sendrecv(MPI_BOTTOM, 1, pair, next, 2, both, 2, MPI_INTEGER, previous, 2, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE, ierr)
    call check(all(both == [previous, -previous]), 'absolute addresses from MPI_BOTTOM')
    call MPI_Type_free(pair, ierr)
  end subroutine

  subroutine communicators()
    IMPORT_MPI
    INCLUDE_MPI
    integer :: ierr, part_rank, part_size, total, neighbour, source, coordinates(1), value
    integer(MPI_ADDRESS_KIND) :: bytes
    COMMUNICATOR :: part, ring
    REQUEST :: promised
    WINDOW :: exposed
    call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), -rank, part, ierr)
    call MPI_Comm_rank(part, part_rank, ierr)
    call MPI_Comm_size(part, part_size, ierr)
    call MPI_Allreduce(1, total, 1, MPI_INTEGER, MPI_SUM, part, ierr)
    call check(total == part_size .and. part_rank == part_size - 1 - rank / 2, 'MPI_Comm_split')
    call MPI_Comm_free(part, ierr)

    call MPI_Cart_create(MPI_COMM_WORLD, 1, [ranks], [.true.], .false., ring, ierr)
    call MPI_Cart_shift(ring, 0, 1, source, neighbour, ierr)
    call MPI_Cart_coords(ring, rank, 1, coordinates, ierr)
    call MPI_Sendrecv(rank, 1, MPI_INTEGER, neighbour, 3, value, 1, MPI_INTEGER, source, 3, ring, MPI_STATUS_IGNORE, &
                      ierr)
    call check(value == source .and. coordinates(1) == rank, 'a ring made by MPI_Cart_create')
    call MPI_Comm_free(ring, ierr)

    call MPI_Comm_idup(MPI_COMM_WORLD, part, promised, ierr)
    call MPI_Wait(promised, MPI_STATUS_IGNORE, ierr)
    call MPI_Sendrecv(rank, 1, MPI_INTEGER, mod(rank + 1, ranks), 4, value, 1, MPI_INTEGER, mod(rank + ranks - 1, ranks), 4, &
                      part, MPI_STATUS_IGNORE, ierr)
    call check(value == mod(rank + ranks - 1, ranks), 'a ring of a communicator made by MPI_Comm_idup')
    call MPI_Comm_free(part, ierr)

    if (ranks > 1) then  ! Open MPI 4.1 has no window of one rank
      bytes = storage_size(module_array) / 8 * size(module_array)
      module_array = -1
      call MPI_Win_create(module_array, bytes, storage_size(module_array) / 8, MPI_INFO_NULL, MPI_COMM_WORLD, exposed, &
                          ierr)
      call MPI_Win_fence(0, exposed, ierr)
      call MPI_Put(rank, 1, MPI_INTEGER, mod(rank + 1, ranks), 4_MPI_ADDRESS_KIND, 1, MPI_INTEGER, exposed, ierr)
      call MPI_Win_fence(0, exposed, ierr)
      call check(module_array(5) == mod(rank + ranks - 1, ranks) .and. module_array(4) == -1, &
                 'MPI_Put into a module array')
      call MPI_Win_free(exposed, ierr)
    end if

    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
    call MPI_Send(value, 1, MPI_INTEGER, ranks, 0, MPI_COMM_WORLD, ierr)
    call check(ierr /= MPI_SUCCESS, 'an error code instead of the end of the job')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL, ierr)
  end subroutine

  ! Long enough to be unloaded while the other ranks run.
  subroutine long_vectors(mebibytes)
    IMPORT_MPI
    INCLUDE_MPI
    integer, intent(in) :: mebibytes
    integer, parameter :: block_length = 131072  ! a mebibyte
    integer :: ierr, round
    real(8), allocatable :: vector(:)
    real(8) :: mine, total
    allocate (vector(mebibytes * block_length))
    vector = rank + 1
    do round = 1, 3
      mine = sum(vector)
      call MPI_Allreduce(mine, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
      call check(total == real(size(vector), 8) * round * (ranks * (ranks + 1) / 2), 'sum of long vectors')
      vector = vector + rank + 1
    end do
  end subroutine

end module

program fortran
  use checks
  IMPORT_MPI
  implicit none
  INCLUDE_MPI
  integer :: ierr, mebibytes, provided
  logical :: initialized
  character(16) :: argument
  call MPI_Initialized(initialized, ierr)
  call check(.not. initialized, 'not initialized before MPI_Init')
  call MPI_Init_thread(MPI_THREAD_FUNNELED, provided, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  mebibytes = 1
  if (command_argument_count() > 0) then
    call get_command_argument(1, argument)
    read (argument, *) mebibytes
  end if
  call point_to_point()
  call collectives()
  call datatypes()
  call communicators()
  call long_vectors(mebibytes)
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  if (rank == 0) print '(i0,a,i0,a)', made, ' checks on each of ', ranks, ' ranks'
  call MPI_Finalize(ierr)
end program
