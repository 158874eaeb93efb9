pleat_test(core_program
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/compile_test.cpp ${CMAKE_CURRENT_LIST_DIR}/graph_scope_test.cpp ${CMAKE_CURRENT_LIST_DIR}/passes_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/quantize_fusion_test.cpp ${CMAKE_CURRENT_LIST_DIR}/split_backward_test.cpp ${CMAKE_CURRENT_LIST_DIR}/exchanges_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/megatron_buffers_test.cpp ${CMAKE_CURRENT_LIST_DIR}/megatron_kernels_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/ring_test.cpp ${CMAKE_CURRENT_LIST_DIR}/merge_layers_test.cpp ${CMAKE_CURRENT_LIST_DIR}/optimizer_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/shipped_models_test.cpp ${CMAKE_CURRENT_LIST_DIR}/weight_cut_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/families_test.cpp ${CMAKE_CURRENT_LIST_DIR}/hybrid_context_test.cpp
  LINKS pleat::core)
