target_sources(pleat_core PRIVATE
  ${CMAKE_CURRENT_LIST_DIR}/names.cpp
  ${CMAKE_CURRENT_LIST_DIR}/lifetimes.cpp
  ${CMAKE_CURRENT_LIST_DIR}/layer_builder.cpp
  ${CMAKE_CURRENT_LIST_DIR}/build_gqa.cpp
  ${CMAKE_CURRENT_LIST_DIR}/build_mla.cpp
  ${CMAKE_CURRENT_LIST_DIR}/build_mlp.cpp
  ${CMAKE_CURRENT_LIST_DIR}/build_moe.cpp
  ${CMAKE_CURRENT_LIST_DIR}/build_layers.cpp
  ${CMAKE_CURRENT_LIST_DIR}/compile.cpp
  ${CMAKE_CURRENT_LIST_DIR}/step_ops.cpp
  ${CMAKE_CURRENT_LIST_DIR}/step_walk.cpp
  ${CMAKE_CURRENT_LIST_DIR}/print.cpp
  ${CMAKE_CURRENT_LIST_DIR}/op_graph.cpp
  ${CMAKE_CURRENT_LIST_DIR}/passes/recompute.cpp
  ${CMAKE_CURRENT_LIST_DIR}/passes/precision.cpp
  ${CMAKE_CURRENT_LIST_DIR}/passes/pair.cpp)
