// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/runtime/graph_cache.hpp"

#include <fmt/core.h>

#include <exception>

namespace pleat {
namespace {

// Scopes whose memory never repeats must not fill the host's.
constexpr std::size_t kMostWords = std::size_t{1} << 24U;

}  // namespace

GraphCache::Capture::~Capture() {
  if (device_ == nullptr) return;
  try {
    static_cast<void>(device_->end_capture());
  // it ended all the same; the first failure is the one to report
  } catch (const std::exception&) {
    return;
  }
}

bool GraphCache::belongs(const OpSite& site) const {
  if (waiting_.empty() || whole_step_) return true;
  const OpSite& last = waiting_.back().site;
  return site.instance == last.instance && site.pass == last.pass &&
         site.microbatch.value == last.microbatch.value;
}

void GraphCache::add(const OpSite& site, std::span<const View> in, std::span<const View> out,
                     View staged) {
  waiting_.push_back({site, {in.begin(), in.end()}, {out.begin(), out.end()}, staged});
}

// A graph may still run on the device.
void GraphCache::forget() {
  device_.synchronize();
  graphs_.clear();
  words_ = 0;
}

void GraphCache::give_up(Graph& g, const std::vector<Waiting>& scope, const std::string& reason) {
  g.failed = true;
  if (std::exchange(reported_, true) || !report_) return;
  const auto name = [](const Waiting& w) { return w.site.op == nullptr ? "?" : w.site.op->name; };
  report_(fmt::format("operations from {} to {} are no graph and go on one by one: {}",
                      name(scope.front()), name(scope.back()), reason));
}

GraphCache::Graph* GraphCache::graph_of(const std::vector<Waiting>& scope) {
  std::vector<std::uintptr_t> key;
  for (const Waiting& w : scope) {
    key.push_back(reinterpret_cast<std::uintptr_t>(w.site.op));
    const bool other_first = w.site.op != nullptr && w.site.op->attr.first_writes;
    key.push_back(other_first && w.site.first ? 1 : 0);
    key.push_back(reinterpret_cast<std::uintptr_t>(w.site.instance));
    key.push_back(reinterpret_cast<std::uintptr_t>(w.staged.data));
    for (const auto* views : {&w.in, &w.out}) {
      for (const View& v : *views) {
        key.push_back(reinterpret_cast<std::uintptr_t>(v.data));
        key.push_back(static_cast<std::uintptr_t>(v.dtype));
        key.push_back(static_cast<std::uintptr_t>(v.rows));
        key.push_back(static_cast<std::uintptr_t>(v.cols));
      }
    }
  }
  const bool moved = device_.graph_age() != age_;
  if (moved || words_ + key.size() > kMostWords) forget();
  age_ = device_.graph_age();
  const std::size_t words = key.size();
  const auto [entry, fresh] = graphs_.try_emplace(std::move(key));
  if (fresh) words_ += words;
  return fresh ? nullptr : &entry->second;
}

}  // namespace pleat
