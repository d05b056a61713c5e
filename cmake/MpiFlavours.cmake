# Finds every MPI library of the machine. Spillway's preloaded library is compiled once for each binary interface
# (MPICH and its descendants; Open MPI), so all that are here are used, not one of them.
#
# Sets spillway_mpi_flavours (a list of `mpich`, `openmpi`) and spillway_default_mpi (the first), and makes for each
# flavour the targets mpi::<flavour>_headers (include path only, for the preloaded library) and mpi::<flavour>
# (headers and library, for MPI programs).
set(spillway_mpi_flavours "")

function(spillway_find_mpi flavour library_names)
  set(hints ${CMAKE_SOURCE_DIR}/build/env/bin)
  if(DEFINED ENV{VIRTUAL_ENV} AND NOT "$ENV{VIRTUAL_ENV}" STREQUAL "")
    list(APPEND hints $ENV{VIRTUAL_ENV}/bin)
  endif()
  find_program(SPILLWAY_MPICC_${flavour} NAMES mpicc.${flavour} mpicc HINTS ${hints})
  if(NOT SPILLWAY_MPICC_${flavour})
    return()
  endif()
  execute_process(COMMAND ${SPILLWAY_MPICC_${flavour}} -show
    OUTPUT_VARIABLE shown ERROR_QUIET RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(failed)
    return()
  endif()
  separate_arguments(words UNIX_COMMAND "${shown}")
  set(includes "")
  set(directories "")
  foreach(word IN LISTS words)
    if(word MATCHES "^-I(.+)$")
      list(APPEND includes "${CMAKE_MATCH_1}")
    elseif(word MATCHES "^-L(.+)$")
      list(APPEND directories "${CMAKE_MATCH_1}")
    endif()
  endforeach()
  # Per directory: the library beside this mpicc, whatever its name, comes before one of the system.
  find_library(SPILLWAY_MPI_LIBRARY_${flavour} NAMES ${library_names} NAMES_PER_DIR HINTS ${directories} NO_CACHE)
  find_file(SPILLWAY_MPI_H_${flavour} mpi.h PATHS ${includes} NO_DEFAULT_PATH NO_CACHE)
  if(NOT SPILLWAY_MPI_LIBRARY_${flavour} OR NOT SPILLWAY_MPI_H_${flavour})
    return()
  endif()
  file(STRINGS ${SPILLWAY_MPI_H_${flavour}} marks REGEX "define (MPICH_VERSION|OMPI_MAJOR_VERSION)")
  if((flavour STREQUAL mpich AND NOT marks MATCHES MPICH_VERSION) OR
     (flavour STREQUAL openmpi AND NOT marks MATCHES OMPI_MAJOR_VERSION))
    return()
  endif()
  get_filename_component(library_directory ${SPILLWAY_MPI_LIBRARY_${flavour}} DIRECTORY)
  add_library(mpi::${flavour}_headers INTERFACE IMPORTED GLOBAL)
  target_include_directories(mpi::${flavour}_headers SYSTEM INTERFACE ${includes})
  add_library(mpi::${flavour} INTERFACE IMPORTED GLOBAL)
  target_link_libraries(mpi::${flavour} INTERFACE mpi::${flavour}_headers ${SPILLWAY_MPI_LIBRARY_${flavour}})
  if(NOT library_directory MATCHES "^/usr/lib")
    target_link_options(mpi::${flavour} INTERFACE "LINKER:-rpath,${library_directory}")
  endif()
  set(SPILLWAY_MPI_H_${flavour} ${SPILLWAY_MPI_H_${flavour}} PARENT_SCOPE)
  list(APPEND spillway_mpi_flavours ${flavour})
  set(spillway_mpi_flavours ${spillway_mpi_flavours} PARENT_SCOPE)
  message(STATUS "MPI library for ${flavour}: ${SPILLWAY_MPI_LIBRARY_${flavour}}")
endfunction()

spillway_find_mpi(mpich "mpich;mpi")
spillway_find_mpi(openmpi "mpi_openmpi;mpi")

if(NOT spillway_mpi_flavours)
  message(FATAL_ERROR "No MPI library with headers found. Debian and Ubuntu: apt-get install libmpich-dev "
    "(or libopenmpi-dev); without root: ./dev setup, which installs PyPI's mpich.")
endif()
list(GET spillway_mpi_flavours 0 spillway_default_mpi)
