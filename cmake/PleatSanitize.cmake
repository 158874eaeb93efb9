# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
# PLEAT_SANITIZE: a list for -fsanitize, "address,undefined" or "thread"; any finding ends the program.
set(PLEAT_SANITIZE "" CACHE STRING "Sanitizers to build with, comma separated")
if(PLEAT_SANITIZE)
  add_compile_options(-fsanitize=${PLEAT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${PLEAT_SANITIZE})
  if(PLEAT_SANITIZE MATCHES fuzzer)
    # A call for every comparison, and checks for locals that outlive their function, are half of a
    # fuzzer's time. Magic words are found without: libFuzzer sees what memcmp compares.
    add_compile_options(-fno-sanitize-coverage=trace-cmp -fsanitize-address-use-after-return=never)
  endif()
endif()
