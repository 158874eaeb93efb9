# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
pleat_test(core_numerics
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/small_float_test.cpp
  LINKS pleat::core)
