# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
# Finds MPI where it is installed (PLEAT_MPI=AUTO), always (ON) or never (OFF), and sets PLEAT_WITH_MPI.
set(PLEAT_MPI AUTO CACHE STRING "Train over MPI: AUTO, ON or OFF")
set_property(CACHE PLEAT_MPI PROPERTY STRINGS AUTO ON OFF)

set(PLEAT_WITH_MPI OFF)
if(NOT PLEAT_MPI)
  return()
endif()
set(MPI_CXX_SKIP_MPICXX ON)  # the C interface is all that is used
if(PLEAT_MPI STREQUAL "AUTO")
  find_package(MPI QUIET COMPONENTS CXX)
else()
  find_package(MPI REQUIRED COMPONENTS CXX)
endif()
if(MPI_CXX_FOUND)
  set(PLEAT_WITH_MPI ON)
  message(STATUS "MPI: ${MPI_CXX_COMPILER}")
endif()
