pleat_test(core_json
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/object_reader_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/parse_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/text_file_test.cpp
  LINKS pleat::core)
