# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
# Enables CUDA where nvcc is found (PLEAT_CUDA=AUTO), always (ON) or never (OFF), and sets
# PLEAT_WITH_CUDA. A machine without nvcc configures in silence and builds everything else.
set(PLEAT_CUDA AUTO CACHE STRING "Build the CUDA kernels: AUTO, ON or OFF")
set_property(CACHE PLEAT_CUDA PROPERTY STRINGS AUTO ON OFF)
set(PLEAT_CUDA_ARCHS 90a CACHE STRING "CUDA architectures, for example 80;90a;100a")

set(PLEAT_WITH_CUDA OFF)
if(NOT PLEAT_CUDA)
  return()
endif()

# CMake names an absent compiler on the console, so look for nvcc before asking CMake for one.
find_program(PLEAT_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
mark_as_advanced(PLEAT_NVCC)
if(PLEAT_NVCC)
  if(NOT DEFINED CMAKE_CUDA_COMPILER)
    set(ENV{CUDACXX} ${PLEAT_NVCC})
  endif()
  set(CMAKE_CUDA_ARCHITECTURES ${PLEAT_CUDA_ARCHS})  # before CMake tries an architecture nvcc dropped
  set(ENV{CUDAARCHS} "${PLEAT_CUDA_ARCHS}")
  include(CheckLanguage)
  check_language(CUDA)
endif()
if(NOT CMAKE_CUDA_COMPILER)
  if(NOT PLEAT_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "PLEAT_CUDA=${PLEAT_CUDA} asks for CUDA, but no working nvcc was found "
                        "(looked in PATH, CUDA_HOME, CUDA_PATH and /usr/local/cuda).")
  elseif(PLEAT_NVCC)
    message(WARNING "${PLEAT_NVCC} does not work, so the CUDA kernels are left out.")
  endif()
  return()
endif()

if(CMAKE_VERSION VERSION_LESS 3.25.2)  # does not know nvcc's flag for C++20
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
enable_language(CUDA)
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
set(PLEAT_WITH_CUDA ON)
message(STATUS "CUDA ${CMAKE_CUDA_COMPILER_VERSION}, architectures ${PLEAT_CUDA_ARCHS}")
