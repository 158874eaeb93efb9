// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/execute/delayed_scaling.hpp"

#include <algorithm>

#include "backend/execute/execution.hpp"
#include "backend/execute/quantization.hpp"
#include "backend/runtime/host_access.hpp"
#include "backend/runtime/views.hpp"
#include "core/program/amax_buffers.hpp"

namespace pleat::execute {
namespace {

// The row of the history that a step's amax goes to, [1, n].
View row_of_history(View buffers, const BucketState& b, std::int64_t step) {
  return elements_of(buffers, amax_places(b).history + step % kAmaxSteps * b.amax_elements,
                     b.amax_elements);
}

}  // namespace

bool DelayedScaling::has_past(std::int64_t first, std::int64_t n) const {
  if (kept_) return true;
  const auto begin = past_.begin() + first;
  return std::any_of(begin, begin + n, [](float amax) { return amax > 0; });
}

void past_amax(const Call& c, Execution& run) {
  const BucketState& b = run.bucket(Bucket::dense);
  const AmaxPlaces places = amax_places(b);
  View history = elements_of(c.out[0], places.history, kAmaxSteps * b.amax_elements);
  history.rows = kAmaxSteps;
  history.cols = b.amax_elements;
  const View past = elements_of(c.out[0], places.past, b.amax_elements);
  run.kernels.largest_of_history(history, past);
  if (run.scaling.must_look()) run.scaling.looked(values_of(run.device, past));
}

// Both copies of a tensor see the same numbers. Without a past the tensor is quantised twice: the
// first time only finds the amax that the second takes, and its codes are overwritten.
void quantize_delayed(const Call& c, Execution& run) {
  const BucketState& b = run.bucket(Bucket::dense);
  const AmaxPlaces places = amax_places(b);
  const std::int64_t local = c.op.attr.local_experts;
  const View counts = local > 0 ? c.in[1] : View{}, all = c.in.back();
  const std::int64_t groups = std::max<std::int64_t>(1, local);
  const std::int64_t first_expert = local > 0 ? run.ranks.expert().ep * local : 0;
  float* const seen = all.f32() + first_expert;
  std::vector<QuantizedCopy> copies = quantized_copies(c, run);
  const auto quantise = [&](const float* past, float* sees) {
    for (QuantizedCopy& copy : copies) {
      copy.how.past_amax = past;
      copy.how.seen_amax = sees;
    }
    run.kernels.quantize_copies(c.in[0], counts, copies);
  };
  const float* const past = seen + (places.past - places.seen);
  const float* const buffers = run.store.state(b.buffers, true, c.op.name).f32();
  if (run.scaling.has_past(all.f32() - buffers - places.seen, all.elements())) {
    return quantise(past, seen);
  }
  const Scratch own = run.scratch.take(DType::fp32, 1, groups);
  run.kernels.zero(own.view());
  quantise(past, own.view().f32());
  quantise(own.view().f32(), seen);
}

void keep_amax(const Call& c, Execution& run) {
  if (run.step.skipped) return;
  const BucketState& b = run.bucket(Bucket::dense);
  run.kernels.copy(elements_of(c.in[0], c.op.attr.first, b.amax_elements),
                   row_of_history(c.out[0], b, run.step.number));
  run.scaling.kept();
}

// Each member finds the largest of its share of the numbers, and sends it to the others.
void all_reduce_amax(const Call& c, Execution& run) {
  Communicator& comm = run.ranks.comm(c.op.group);
  const View numbers = elements_of(c.out[0], c.op.attr.first, c.op.attr.n.n);
  const std::int64_t n = numbers.elements(), ranks = comm.size();
  const std::int64_t share = (n + ranks - 1) / ranks;
  const Scratch mine = run.scratch.take(DType::fp32, ranks, share);
  const Scratch received = run.scratch.take(DType::fp32, ranks, share);
  run.kernels.zero(mine.view());
  run.kernels.copy(numbers, elements_of(mine.view(), 0, n));
  const std::vector<std::int64_t> sizes(static_cast<std::size_t>(ranks),
                                        bytes_of(DType::fp32, share));
  comm.all_to_all(bytes(mine.view()), sizes, bytes(received.view()), sizes);
  const View largest = elements_of(mine.view(), 0, share);
  run.kernels.largest_of_history(received.view(), largest);
  comm.all_gather(bytes(largest), bytes(received.view()));
  run.kernels.copy(elements_of(received.view(), 0, n), numbers);
}

}  // namespace pleat::execute
