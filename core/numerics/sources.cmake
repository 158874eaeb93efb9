# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
# Numbers narrower than fp32, bit by bit; normal ones, the same bits everywhere.
target_sources(pleat_core PRIVATE
  ${CMAKE_CURRENT_LIST_DIR}/normal.cpp
  ${CMAKE_CURRENT_LIST_DIR}/small_float.cpp)
# Hot where weights are made; every operation rounds.
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/normal.cpp PROPERTIES
  SKIP_UNITY_BUILD_INCLUSION ON COMPILE_OPTIONS "-O3;-ffp-contract=off")
