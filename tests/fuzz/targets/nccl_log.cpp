// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Output of nccl-tests.
#include "interop/nccl_tests.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace pleat::fuzz {

const Form kForm = Form::bytes;

void run(std::string_view input) {
  const interop::NcclRun read =
      interop::parse_nccl_tests(std::string(input), "nccl.log", "all_reduce", 0);
  (void)interop::collective_csv({read}, "log");
  (void)interop::fit_collective(read, BytesPerSecond(450e9));
}

}  // namespace pleat::fuzz
