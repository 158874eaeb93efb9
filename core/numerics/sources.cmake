# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
# Numbers narrower than fp32, bit by bit.
target_sources(pleat_core PRIVATE
  ${CMAKE_CURRENT_LIST_DIR}/small_float.cpp)
