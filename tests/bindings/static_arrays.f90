! Fortran's large data in all the places that are not the heap: a COMMON block, arrays of a module, arrays of the main
! program, and an array with initial values. 30 MiB in all.
!   static_arrays ROUNDS
! Each round sums all arrays up, exchanges a part of each with the neighbours, and changes them. Rank 0 prints a line per
! round that depends on all elements of all ranks; all values are integers that real(8) holds exactly.
module fields
  implicit none
  integer, parameter :: words = 1048576  ! 8 MiB of real(8)
  real(8) :: pressure(words)
  real(8), save :: velocity(1024, 1024)
  integer :: flag = 1
  integer :: coefficients(524288) = 7  ! 2 MiB
end module

subroutine change(round)
  use fields
  implicit none
  integer, intent(in) :: round
  real(8) :: work(words)
  integer :: step
  common /shared/ work, step
  integer :: k
  do k = 1, words
    work(k) = mod(work(k) + coefficients(mod(k, 524288) + 1) + round, 65536d0)
  end do
  pressure(1:words:2) = mod(pressure(1:words:2) + work(1:words:2), 65536d0)
  velocity(:, mod(round, 1024) + 1) = mod(velocity(:, mod(round, 1024) + 1) + work(1:1024), 65536d0)
  coefficients(round + 1) = coefficients(round + 1) + 1
  step = step + 1
end subroutine

program static_arrays
  use mpi
  use fields
  implicit none
  real(8) :: work(words), halo(512, 1024), mine, total
  integer :: step
  common /shared/ work, step
  integer :: ierr, rank, ranks, round, rounds, next, previous, k
  character(16) :: argument
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  call get_command_argument(1, argument)
  read (argument, *) rounds
  next = mod(rank + 1, ranks)
  previous = mod(rank + ranks - 1, ranks)
  step = 0
  do k = 1, words
    work(k) = mod(k + rank, 65536)
    pressure(k) = mod(k * 3 + rank, 65536)
  end do
  velocity = rank
  do round = 1, rounds
    call change(round)
    call MPI_Sendrecv(velocity, 512 * 1024, MPI_DOUBLE_PRECISION, next, 1, halo, 512 * 1024, MPI_DOUBLE_PRECISION, &
                      previous, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call MPI_Bcast(work, 1000, MPI_DOUBLE_PRECISION, mod(round, ranks), MPI_COMM_WORLD, ierr)
    mine = sum(work) + sum(pressure) + sum(velocity) + sum(halo) + sum(real(coefficients, 8)) + step + flag
    call MPI_Reduce(mine, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
    if (rank == 0) print '(a,i0,a,f0.0)', 'round ', round, ': ', total
  end do
  call MPI_Finalize(ierr)
end program
