# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
# Compiles through ccache where it is installed and no other launcher was asked for.
find_program(PLEAT_CCACHE ccache)
mark_as_advanced(PLEAT_CCACHE)
if(PLEAT_CCACHE)
  foreach(language IN ITEMS CXX CUDA)
    if(NOT DEFINED CMAKE_${language}_COMPILER_LAUNCHER)
      # Without these it does not cache what includes a precompiled header.
      set(CMAKE_${language}_COMPILER_LAUNCHER
          ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${PLEAT_CCACHE})
    endif()
  endforeach()
endif()
