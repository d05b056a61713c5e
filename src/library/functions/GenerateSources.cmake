# Generates what depends on the functions that an mpi.h declares, at build time, whenever the table, the generators or
# mpi.h change. Each flavour needs a folder of its own.
#
#   spillway_generate_library(<path of mpi.h> <folder>)
#     mpi_library.h, mpi_library.cpp   the library's functions, called by address (generate_library.py)
#   spillway_generate_entry_points(<path of mpi.h> <folder>)
#     entry_points.cpp                 the entry points of delegated functions (generate_entry_points.py)
#     profiling_names                  for the linker: PMPI_X is our MPI_X too

function(spillway_generate_library mpi_header folder)
  set(here ${CMAKE_CURRENT_FUNCTION_LIST_DIR})
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(
    OUTPUT ${folder}/mpi_library.h ${folder}/mpi_library.cpp
    COMMAND ${Python3_EXECUTABLE} ${here}/generate_library.py
            --compiler ${CMAKE_CXX_COMPILER} --header ${mpi_header}
            --declarations ${folder}/mpi_library.h --definitions ${folder}/mpi_library.cpp
    DEPENDS ${mpi_header} ${here}/mpi_functions.csv ${here}/function_table.py ${here}/mpi_header.py ${here}/generate_library.py
    COMMENT "Generating calls of the library of ${mpi_header}"
    VERBATIM)
endfunction()

function(spillway_generate_entry_points mpi_header folder)
  set(here ${CMAKE_CURRENT_FUNCTION_LIST_DIR})
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(
    OUTPUT ${folder}/entry_points.cpp ${folder}/profiling_names
    COMMAND ${Python3_EXECUTABLE} ${here}/generate_entry_points.py
            --compiler ${CMAKE_CXX_COMPILER} --header ${mpi_header}
            --entry-points ${folder}/entry_points.cpp --profiling-names ${folder}/profiling_names
    DEPENDS ${mpi_header} ${here}/mpi_functions.csv ${here}/function_table.py ${here}/mpi_header.py ${here}/generate_entry_points.py
    COMMENT "Generating entry points for ${mpi_header}"
    VERBATIM)
endfunction()
