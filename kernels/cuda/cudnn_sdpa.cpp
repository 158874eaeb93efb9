// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cudnn_sdpa.hpp"

#include <dlfcn.h>

#include <cstring>
#include <exception>
#include <unordered_map>

#include "kernels/cuda/cuda_check.cuh"
#include "kernels/cuda/implementation.hpp"

namespace pleat::cuda {
namespace {

// Machines with a driver and no development files have the name with the version alone.
void* open_library(const char* name, int flags) {
  void* library = dlopen(name, flags);
  if (library == nullptr && std::strcmp(name, "libcuda.so") == 0) {
    library = dlopen("libcuda.so.1", flags);
    static_cast<void>(dlerror());
  }
  return library;
}

}  // namespace
}  // namespace pleat::cuda

// The front end loads the libraries that it calls, so that a program starts without them.
#define dlopen(name, flags) ::pleat::cuda::open_library(name, flags)
#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#define CUDNN_FRONTEND_SKIP_JSON_LIB
#include <cudnn_frontend.h>
#undef dlopen

namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;
}  // namespace cudnn_frontend

namespace pleat::cuda {
namespace {

namespace fe = cudnn_frontend;
using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;

constexpr std::int64_t kMostWorkspace = std::int64_t{16} << 30U;

enum Uid : std::int64_t {
  kQ = 1, kK, kV, kO, kStats, kDo, kDq, kDk, kDv, kLengths, kQFirst, kKFirst, kVFirst, kOFirst,
  kFactors  // CodeFactor's numbers follow
};

void check(cudnnStatus_t status, const char* call) {
  if (status != CUDNN_STATUS_SUCCESS) {
    throw DeviceError(call, fe::detail::get_error_string(status), __FILE__, __LINE__);
  }
}

fe::graph::Tensor_attributes tensor(const char* name, std::int64_t uid, const SdpaShape& s,
                                    const SdpaOperand& at, std::int64_t heads,
                                    std::int64_t width) {
  const bool of_keys = uid == kK || uid == kV || uid == kDk || uid == kDv;
  const std::int64_t rows = of_keys ? s.key_count() : s.seq;
  return fe::graph::Tensor_attributes()
      .set_name(name)
      .set_uid(uid)
      .set_dim({s.batch, heads, rows, width})
      .set_stride({rows * at.ld, at.step, at.ld, 1});
}

const SdpaOperand& gradient(const SdpaOperand& own, const SdpaOperand& value) {
  return own.ld > 0 ? own : value;
}

fe::graph::Tensor_attributes stats_tensor(const SdpaShape& s) {
  return fe::graph::Tensor_attributes()
      .set_name("stats")
      .set_uid(kStats)
      .set_dim({s.batch, s.heads, s.seq, 1})
      .set_stride({s.heads * s.seq, s.seq, 1, 1})
      .set_data_type(fe::DataType_t::FLOAT);
}

void set_output(const Tensor& t, const fe::graph::Tensor_attributes& like) {
  t->set_output(true)
      .set_uid(like.get_uid())
      .set_dim(like.get_dim())
      .set_stride(like.get_stride());
}

}  // namespace

struct SdpaLibrary::Graph {
  fe::graph::Graph graph;
  std::int64_t workspace = -1;
};

struct SdpaLibrary::Handle {
  cudnnHandle_t cudnn = nullptr;
};

namespace {

Tensor numbers(fe::graph::Graph& g, const char* name, Uid uid, std::int64_t count) {
  return g.tensor(fe::graph::Tensor_attributes()
                      .set_name(name)
                      .set_uid(uid)
                      .set_dim({count, 1, 1, 1})
                      .set_stride({1, 1, 1, 1})
                      .set_data_type(fe::DataType_t::INT32));
}

// What only ragged graphs have.
struct Ragged {
  Tensor lengths, q, k, v, o;
  Ragged(fe::graph::Graph& g, const SdpaShape& s) {
    if (!s.ragged) return;
    lengths = numbers(g, "lengths", kLengths, s.batch);
    q = numbers(g, "q first", kQFirst, s.batch + 1);
    k = numbers(g, "k first", kKFirst, s.batch + 1);
    v = numbers(g, "v first", kVFirst, s.batch + 1);
    o = numbers(g, "o first", kOFirst, s.batch + 1);
  }
};

fe::graph::Tensor_attributes beginning(fe::graph::Tensor_attributes t, const Tensor& first) {
  if (first != nullptr) t.set_ragged_offset(first);
  return t;
}

template <class Attributes>
void set_mask(Attributes& a, const SdpaShape& s, const Ragged& ragged) {
  a.set_causal_mask(!s.unmasked).set_attn_scale(s.scale);
  if (s.window > 0) a.set_diagonal_band_left_bound(static_cast<int>(s.window));
  if (s.ragged)
    a.set_padding_mask(true).set_seq_len_q(ragged.lengths).set_seq_len_kv(ragged.lengths);
}

void set_first(const Tensor& t, const Tensor& first) {
  if (first != nullptr) t->set_ragged_offset(first);
}

void add_forward(fe::graph::Graph& g, const SdpaShape& s) {
  const Ragged first(g, s);
  const Tensor q = g.tensor(beginning(tensor("q", kQ, s, s.q, s.heads, s.width), first.q));
  const Tensor k = g.tensor(beginning(tensor("k", kK, s, s.k, s.groups, s.width), first.k));
  const Tensor v = g.tensor(beginning(tensor("v", kV, s, s.v, s.groups, s.value_width), first.v));
  auto options = fe::graph::SDPA_attributes().set_name("attention").set_generate_stats(true);
  set_mask(options, s, first);
  const auto [o, stats] = g.sdpa(q, k, v, options);
  set_output(o, tensor("o", kO, s, s.o, s.heads, s.value_width));
  set_first(o, first.o);
  set_output(stats, stats_tensor(s));
  stats->set_data_type(fe::DataType_t::FLOAT);
}

fe::graph::Tensor_attributes factor(CodeFactor which) {
  return fe::graph::Tensor_attributes()
      .set_uid(kFactors + static_cast<std::int64_t>(which))
      .set_dim({1, 1, 1, 1})
      .set_stride({1, 1, 1, 1})
      .set_data_type(fe::DataType_t::FLOAT);
}

// As add_forward's, of codes. o is codes too: only later GPUs write it in bf16.
void add_forward_of_codes(fe::graph::Graph& g, const SdpaShape& s) {
  const Ragged first(g, s);
  const Tensor q = g.tensor(beginning(tensor("q", kQ, s, s.q, s.heads, s.width), first.q));
  const Tensor k = g.tensor(beginning(tensor("k", kK, s, s.k, s.groups, s.width), first.k));
  const Tensor v = g.tensor(beginning(tensor("v", kV, s, s.v, s.groups, s.value_width), first.v));
  auto options =
      fe::graph::SDPA_fp8_attributes().set_name("attention of codes").set_generate_stats(true);
  set_mask(options, s, first);
  const auto of = [&](CodeFactor which) { return g.tensor(factor(which)); };
  const auto [o, stats, most, most_of_o] =
      g.sdpa_fp8(q, k, v, of(CodeFactor::q), of(CodeFactor::k), of(CodeFactor::v),
                 of(CodeFactor::probability), of(CodeFactor::to_probability), of(CodeFactor::to_o),
                 options);
  set_output(o, tensor("o", kO, s, s.o, s.heads, s.value_width));
  o->set_data_type(fe::DataType_t::FP8_E4M3);
  set_first(o, first.o);
  set_output(stats, stats_tensor(s));
  stats->set_data_type(fe::DataType_t::FLOAT);
  set_output(most, factor(CodeFactor::largest_probability));
  set_output(most_of_o, factor(CodeFactor::largest_o));
  most->set_data_type(fe::DataType_t::FLOAT);
  most_of_o->set_data_type(fe::DataType_t::FLOAT);
}

void add_backward(fe::graph::Graph& g, const SdpaShape& s, bool deterministic) {
  const Ragged first(g, s);
  const auto q = beginning(tensor("q", kQ, s, s.q, s.heads, s.width), first.q);
  const auto k = beginning(tensor("k", kK, s, s.k, s.groups, s.width), first.k);
  const auto v = beginning(tensor("v", kV, s, s.v, s.groups, s.value_width), first.v);
  const Tensor o = g.tensor(beginning(tensor("o", kO, s, s.o, s.heads, s.value_width), first.o));
  const Tensor d_o =
      g.tensor(beginning(tensor("do", kDo, s, s.o, s.heads, s.value_width), first.o));
  const Tensor stats = g.tensor(stats_tensor(s));
  auto options = fe::graph::SDPA_backward_attributes()
                     .set_name("attention backward")
                     .set_deterministic_algorithm(deterministic);
  set_mask(options, s, first);
  const auto [dq, dk, dv] =
      g.sdpa_backward(g.tensor(q), g.tensor(k), g.tensor(v), o, d_o, stats, options);
  set_output(dq, tensor("dq", kDq, s, gradient(s.dq, s.q), s.heads, s.width));
  set_output(dk, tensor("dk", kDk, s, gradient(s.dk, s.k), s.groups, s.width));
  set_output(dv, tensor("dv", kDv, s, gradient(s.dv, s.v), s.groups, s.value_width));
  set_first(dq, first.q);
  set_first(dk, first.k);
  set_first(dv, first.v);
}

void fill(fe::graph::Graph& g, const SdpaShape& s, bool deterministic) {
  g.set_io_data_type(s.codes ? fe::DataType_t::FP8_E4M3 : fe::DataType_t::BFLOAT16)
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT);
  if (s.backward) {
    add_backward(g, s, deterministic);
  } else if (s.codes) {
    add_forward_of_codes(g, s);
  } else {
    add_forward(g, s);
  }
}

}  // namespace

std::string description(const SdpaShape& s) {
  const auto text = [](std::int64_t n) { return std::to_string(n); };
  return std::string(s.backward ? "backward" : "forward") +
         (s.codes ? " in codes, " : " in bf16, ") + text(s.batch) + " x " + text(s.seq) +
         " tokens, " + (s.key_count() != s.seq ? text(s.keys) + " keys, " : "") + text(s.heads) +
         "/" + text(s.groups) + " heads of " + text(s.width) + "/" + text(s.value_width) +
         (s.window > 0 ? ", window " + text(s.window) : "") +
         (s.ragged ? ", packed documents" : "") + (s.unmasked ? ", no mask" : "");
}

SdpaLibrary::SdpaLibrary(const Resources& r, bool deterministic)
    : handle_(std::make_unique<Handle>()), deterministic_(deterministic) {
  r.device().make_current();
  check(fe::detail::create_handle(&handle_->cudnn), "cudnnCreate");
  check(fe::detail::set_stream(handle_->cudnn, native(r)), "cudnnSetStream");
}

SdpaLibrary::~SdpaLibrary() { fe::detail::destroy_handle(handle_->cudnn); }

namespace {

// Why libcudnn cannot be used; empty: it is loaded.
const std::string& loading_error() {
  static const std::string error = [] {
    fe::cudnn_dlhandle = open_library("libcudnn.so.9", RTLD_NOW);
    if (fe::cudnn_dlhandle != nullptr) return std::string();
    const char* const why = dlerror();
    return std::string(why == nullptr ? "libcudnn.so.9 cannot be loaded" : why);
  }();
  return error;
}

}  // namespace

bool SdpaLibrary::available() { return loading_error().empty(); }

std::string SdpaLibrary::status() {
  if (!available()) return loading_error();
  return fe::detail::get_backend_version_string() + " (front end " +
         fe::detail::convert_version_to_str(CUDNN_FRONTEND_VERSION) + ")";
}

std::int64_t SdpaLibrary::prepare(const SdpaShape& s) {
  const auto known = graphs_.find(s);
  if (known != graphs_.end()) return known->second->workspace;
  auto made = std::make_unique<Graph>();
  fill(made->graph, s, deterministic_);
  std::int64_t bytes = -1;
  std::string why;
  try {
    auto status = made->graph.build(handle_->cudnn, {fe::HeurMode_t::A});
    if (status.is_good()) status = made->graph.get_workspace_size(bytes);
    if (!status.is_good()) why = status.get_message();
  } catch (const std::exception& e) {  // a library that it wanted to load is not there
    why = e.what();
  }
  if (why.empty() && bytes < 0) why = "no workspace size";
  if (bytes > kMostWorkspace) why = "its workspace is " + std::to_string(bytes) + " bytes";
  if (why.empty()) {
    made->workspace = bytes;
  } else {
    note_refusal("cuDNN has no attention for " + description(s), why);
  }
  return graphs_.emplace(s, std::move(made)).first->second->workspace;
}

std::string SdpaLibrary::objection(const SdpaShape& s, bool deterministic) {
  fe::graph::Graph g;
  g.set_sm_version(90);
  fill(g, s, deterministic);
  auto status = g.validate();
  return status.is_good() ? "" : status.get_message();
}

void SdpaLibrary::run(const SdpaShape& s, const SdpaPointers& p, void* workspace) {
  const auto at = [](const void* data) { return const_cast<void*>(data); };
  std::unordered_map<std::int64_t, void*> operands{
      {kQ, at(p.q)}, {kK, at(p.k)}, {kV, at(p.v)}, {kO, p.o}, {kStats, p.stats}};
  if (s.backward) {
    operands.insert({{kDo, at(p.d_o)}, {kDq, p.dq}, {kDk, p.dk}, {kDv, p.dv}});
  }
  if (s.ragged) {
    operands.insert({{kLengths, p.lengths}, {kQFirst, p.q_first}, {kKFirst, p.k_first},
                     {kVFirst, p.v_first}, {kOFirst, p.o_first}});
  }
  for (std::int64_t i = 0; s.codes && i < static_cast<std::int64_t>(CodeFactor::count); ++i) {
    operands.emplace(kFactors + i, p.factors + i * kFactorStep);
  }
  auto status = graphs_.at(s)->graph.execute(handle_->cudnn, operands, workspace);
  if (!status.is_good()) {
    throw DeviceError("cuDNN attention", status.get_message(), __FILE__, __LINE__);
  }
}

}  // namespace pleat::cuda
