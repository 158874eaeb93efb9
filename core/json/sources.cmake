# Strict JSON: a positioned tree, its parser, its text, typed reading, whole files.
target_sources(pleat_core PRIVATE
  ${CMAKE_CURRENT_LIST_DIR}/json_value.cpp
  ${CMAKE_CURRENT_LIST_DIR}/object_reader.cpp
  ${CMAKE_CURRENT_LIST_DIR}/parse.cpp
  ${CMAKE_CURRENT_LIST_DIR}/text_file.cpp
  ${CMAKE_CURRENT_LIST_DIR}/tree_builder.cpp)
