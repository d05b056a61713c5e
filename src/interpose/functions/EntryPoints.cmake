# Generates the entry points of all delegated MPI functions, for one MPI library.
#
#   include(functions/EntryPoints.cmake)
#   spillway_generate_entry_points(<flavour> <path of mpi.h> <out.cpp>)
#
# writes at build time, whenever the table, the generator or mpi.h changes,
#   <out.cpp>                                    to be compiled into libspillway-<flavour>.so
#   <directory of out.cpp>/function_table.inc    SPILLWAY_MPI_FUNCTION(name, kind) for each function of this mpi.h
# so each flavour needs a directory of its own. <out.cpp> includes "interpose/delegated_call.h".
# tests/mpi_table learns from <build>/mpi_headers/<flavour>, written when CMake runs, which mpi.h are in use.
set(SPILLWAY_FUNCTIONS_DIR ${CMAKE_CURRENT_LIST_DIR})

function(spillway_generate_entry_points flavour mpi_header out)
  get_filename_component(out ${out} ABSOLUTE BASE_DIR ${CMAKE_CURRENT_BINARY_DIR})
  get_filename_component(out_directory ${out} DIRECTORY)
  file(MAKE_DIRECTORY ${out_directory})
  file(WRITE ${CMAKE_BINARY_DIR}/mpi_headers/${flavour} "${mpi_header}\n")
  add_custom_command(
    OUTPUT ${out} ${out_directory}/function_table.inc
    COMMAND ${Python3_EXECUTABLE} ${SPILLWAY_FUNCTIONS_DIR}/generate_entry_points.py
            --compiler ${CMAKE_CXX_COMPILER} --header ${mpi_header}
            --entry-points ${out} --table ${out_directory}/function_table.inc
    DEPENDS ${mpi_header}
            ${SPILLWAY_FUNCTIONS_DIR}/mpi_functions.csv
            ${SPILLWAY_FUNCTIONS_DIR}/generate_entry_points.py
            ${SPILLWAY_FUNCTIONS_DIR}/function_table.py
            ${SPILLWAY_FUNCTIONS_DIR}/mpi_header.py
    COMMENT "Generating MPI entry points for ${flavour}"
    VERBATIM)
endfunction()
