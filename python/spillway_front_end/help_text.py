"""The texts of --help around the options: words, variables, exit statuses, failures, examples."""

WIDTH = 100  # characters

ABOUT = """\
Spillway runs MPI programs on data larger than memory: many more ranks than fit, a few at a
time, with the memory of those that wait on disk. The program needs no change."""

MAIN_EPILOG = """\
words:
  rank      one process of an MPI program
  slot      the right to run; with --slots 2, two ranks compute and the others wait their turn
  budget    memory that all ranks together may keep resident (--memory)
  load      bring a rank's memory back from disk; unload puts it there
  spill     write to disk for want of memory: unloaded memory, and messages not yet received

example:
  spillway run -n 64 --slots 2 --memory 8G ./app input.dat

`spillway run --help` has the options, variables, exit statuses and failures."""

RUN_ABOUT = """\
Run an ordinary, dynamically linked MPI program (MPICH or Open MPI) with more ranks than fit in
memory. A rank that waits in MPI gives its slot to another one; when memory runs short, its
memory is unloaded to the spill directory and loaded again when it is used."""

RUN_EPILOG = """\
words:
  rank      one process of the MPI program
  slot      the right to run; at most `k` ranks compute between two MPI calls at any time
  budget    memory that all ranks of a node together may keep resident
  node      a machine of the job, or a part of one (--ranks-per-node)
  spill     write to disk for want of memory: unloaded memory, and messages not yet received
  sizes     K, M, G, T are powers of 1024: 1.5G = 1.5GiB = 1610612736

environment:
  SPILLWAY_SPILL_DIR   spill directories when --spill-dir is not given, with `:` between them
  TMPDIR               tried as spill directory after that
  PATH                 where the program, and an MPI launcher not beside its library, are looked for
  LD_LIBRARY_PATH      counts in finding the program's MPI library, as it does in the run
  LD_PRELOAD           kept; Spillway's library comes first
  SLURM_JOB_ID and others of Slurm's: its job's nodes are the hosts, its tasks the ranks; what it
                       gives to the job on a node is the most that --slots and --memory are there
                       by default

exit status:
  0          every rank ended well
  2          nothing was started: a mistake in the options, a program that is not a dynamically
             linked MPI program, no suitable spill directory
  126, 127   a rank's program could not be executed
  128 + s    a rank was killed by signal s, or `spillway` was ended by it (130: ^C, 143: SIGTERM)
  other      the status of the first rank that failed, or the code given to MPI_Abort; 1 when a
             rank ended without MPI_Finalize or Spillway itself gave up

failures:
  The first failure of a rank (killed, crashed, exit status other than 0 or no MPI_Finalize) ends
  all ranks, with one message that names rank, host, process, cause and remedy. After
  MPI_Finalize, a rank's exit status is only passed on. SIGINT, SIGTERM, SIGHUP and SIGQUIT to
  `spillway` reach every rank; what has not ended 5 seconds later, or at a second signal, is
  killed. SIGUSR1 and SIGUSR2 are passed on; ^Z stops the whole job, `fg` and `bg` let it go on.
  Nothing is left behind in any case: spill files have no names, and no process outlives the
  job, even when `spillway` is killed with SIGKILL.

examples:
  spillway run ./app                                     slots, ranks and memory as the machine has
  spillway run -n 64 --slots 2 --memory 8G ./app in.dat  64 ranks, two at a time, within 8 GiB
  spillway run -n 16 --mpi openmpi python3 script.py     mpi4py: say which MPI it uses
  spillway run -n 64 --memory 8G --dry-run ./app         what would be done, and why
  spillway run -n 96 --hosts n1,n2,n3 ./app              32 ranks on each of three machines
  sbatch -N 3 -n 96 --wrap "spillway run ./app"          the same through Slurm
  spillway run -n 8 --summary json --summary-file s.json ./app
  spillway run -n 8 --detect-deadlock ./app              which ranks wait for what"""

TUNE_ABOUT = """\
Measure how long broadcasts of several sizes take between the machines, or between some of them,
by each algorithm, and write rules that choose the fastest one (--output). It takes some seconds
for each algorithm and number of machines, during which nothing else should use the network.
Measure which machines are near each other, and write which are in a rack (--racks-output)."""

TUNE_EPILOG = """\
example:
  spillway tune --hosts node1,node2,node3,node4 --racks-output racks --output broadcasts
  spillway run --hosts node1,node2,node3,node4 --racks racks --broadcasts broadcasts -n 64 ./app"""

SORT_ABOUT = """\
Sort files of lines, or of records that all have the same size, whether or not they have room in
memory. They are read, dealt out to buckets by samples of their keys, and each bucket is sorted and
written to its place; what has no room meanwhile is in files without names in the spill directory.
An input is a file, a directory, which stands for the files in it, or a pattern ('logs/*.txt')."""

SORT_EPILOG = """\
exit status:
  0: the output is there, whole; 2: wrong options; else the sort has failed or was interrupted

examples:
  spillway sort --output sorted records.dat                     100 bytes, the first 10 are the key
  spillway sort --output sorted --memory 4G parts/              all files of a directory
  spillway sort --output sorted --record-bytes 16 --key 8:8:float:desc points.bin
  spillway sort --output sorted --lines --separator , --key 3:number prices.csv
  spillway sort --output words --lines --count words.txt        as sort | uniq -c
  spillway sort --hosts node1,node2 --output /shared/sorted /shared/parts/"""

MPIDRUN_ABOUT = """\
Run a key-value job: a program that calls MPI_D_Init (spillway/mpid.h). O tasks send records of a
key and a value; A tasks receive them sorted by key. Its processes are ranks of `spillway run`,
whose options are below; the O tasks are given out one by one as processes become free."""

MPIDRUN_EPILOG = """\
words:
  O task, A task   what sends records, as a map function does; what receives them, as reduce
  mode             common: each task is a process, O tasks first; mapreduce: each of the processes
                   (-n, default: as many as slots) runs many tasks; iteration: the same, round by
                   round; streaming: as common, all at the same time

environment:
  MPI_D_MEMORY, MPI_D_PARTITION_BYTES, MPI_D_SPILL_DIR
                   as in the configuration of MPI_D_Init; the first and the last have defaults of
                   --memory and --spill-dir

exit status:
  that of `spillway run`, or with --plain of the MPI launcher; 2 when nothing was started

example:
  mpidrun -O 64 -A 8 -M mapreduce --memory 4G ./wordcount counts/ text-*.txt
  mpidrun -O 64 -A 8 --mpi mpich python3 wordcount.py counts/ text-*.txt"""
