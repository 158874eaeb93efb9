// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/implementation.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <mutex>
#include <set>

#include "kernels/cuda/fused_attention.hpp"
#include "kernels/cuda/grouped_library.hpp"

namespace pleat::cuda {
namespace {

thread_local Implementation last = Implementation::own;

// 130100 of cuBLASLt is 13.1.0.
std::string cublaslt_version(void* library) {
  if (library == nullptr) return "not found";
  const auto version = reinterpret_cast<std::size_t (*)()>(dlsym(library, "cublasLtGetVersion"));
  if (version == nullptr) return "no cublasLtGetVersion in it";
  const std::size_t v = version();
  return std::to_string(v / 10000) + "." + std::to_string(v / 100 % 100) + "." +
         std::to_string(v % 100);
}

}  // namespace

const char* name_of(Implementation i) {
  switch (i) {
    case Implementation::own:
      return "own";
    case Implementation::own_tensor_cores:
      return "own tensor cores";
    case Implementation::cublaslt:
      return "cuBLASLt";
    case Implementation::cublaslt_codes:
      return "cuBLASLt, codes";
    case Implementation::cublaslt_groups:
      return "cuBLASLt, groups";
    case Implementation::cutlass:
      return "CUTLASS";
    case Implementation::cutlass_codes:
      return "CUTLASS, codes";
    case Implementation::cudnn:
      return "cuDNN";
    case Implementation::cudnn_codes:
      return "cuDNN, codes";
  }
  return "";
}

Implementation taken_by() { return last; }

void note_taken_by(Implementation i) { last = i; }

std::vector<std::pair<std::string, std::string>> library_facts() {
  void* const cublaslt = cublaslt_handle();
  const std::string objection = grouped_objection(cublaslt);
  return {{"cudnn", cudnn_status()},
          {"cublaslt", cublaslt_version(cublaslt)},
          {"cublaslt_groups", objection.empty() ? "yes" : objection},
          {"cutlass", has_cutlass() ? "yes" : "not built in"}};
}

std::string library_line() {
  const auto facts = library_facts();
  const std::string& groups = facts[2].second;
  return "cuDNN: " + facts[0].second + "; cuBLASLt: " + facts[1].second +
         ", its grouped product: " + groups + "; CUTLASS: " + facts[3].second;
}

void note_refusal(const std::string& what, const std::string& why) {
  static std::mutex mutex;
  static std::set<std::string> said;
  const std::string line = what + ": " + why;
  const std::scoped_lock lock(mutex);
  if (said.insert(line).second) std::fprintf(stderr, "%s\n", line.c_str());
}

}  // namespace pleat::cuda
