// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration/microbench/overlap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

#include "calibration/microbench/on_ranks.hpp"
#include "calibration/microbench/rank_work.hpp"

namespace pleat {
namespace {

// y = x w, operands of random numbers in memory of the rank's device.
class Product {
 public:
  Product(Device& device, const OverlapProduct& p)
      : device_(device), x_(make(p, 1)), w_(make(p, 2)), y_(make(p, 3)) {}
  ~Product() {
    for (const View& v : {x_, w_, y_}) device_.memory().release(static_cast<std::byte*>(v.data));
  }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  // On stream 0.
  void run() { device_.kernels().gemm(x_, false, w_, true, y_, false); }
  void run_timed() {
    const Device::Moment begin = device_.moment();
    run();
    runs_.emplace_back(begin, device_.moment());
  }
  double seconds() {
    double sum = 0;
    for (const auto& [begin, end] : std::exchange(runs_, {})) sum += device_.seconds(begin, end);
    return sum;
  }

 private:
  View make(const OverlapProduct& p, unsigned seed) {
    const std::int64_t bytes = bytes_of(p.type, p.n * p.n);
    std::minstd_rand random(seed);
    std::uniform_real_distribution<float> uniform(-0.5F, 0.5F);
    std::vector<Bf16> halves(std::size_t{1} << 16U);
    std::vector<float> words(halves.size());
    for (std::size_t i = 0; i < words.size(); ++i) halves[i] = to_bf16(words[i] = uniform(random));
    const void* const from = p.type == DType::bf16 ? static_cast<const void*>(halves.data())
                                                   : static_cast<const void*>(words.data());
    std::byte* const data = device_.memory().allocate(bytes);
    const std::int64_t some = bytes_of(p.type, std::ssize(words));
    for (std::int64_t at = 0; at < bytes; at += some)
      device_.copy(data + at, from, std::min(some, bytes - at));
    return {data, p.type, p.n, p.n};
  }

  Device& device_;
  View x_, w_, y_;
  std::vector<std::pair<Device::Moment, Device::Moment>> runs_;
};

// The collective on a stream of its own, from where stream 0 is now; `between` is stream 0's work
// beside it.
void side_by_side(Device& device, RankWork& work, const std::function<void()>& between) {
  const std::uint64_t begin = device.mark();
  between();
  device.take_stream(kOverlapStream);
  device.wait_for(0, begin);
  work.run();
  const std::uint64_t end = device.mark();
  device.take_stream(0);
  device.wait_for(kOverlapStream, end);
}

const char* name_of(OverlapPart part) {
  switch (part) {
    case OverlapPart::product:
      return "product alone";
    case OverlapPart::collective:
      return "alone";
    case OverlapPart::both:
      return "and product";
    case OverlapPart::product_beside:
      return "beside product";
  }
  return "?";
}

std::string what_of(const OverlapPoint& p) {
  const char* const kind = name_of(p.collective.kind);
  switch (p.part) {
    case OverlapPart::product:
      return "product of ranks alone";
    case OverlapPart::collective:
      return fmt::format("{} beside nothing", kind);
    case OverlapPart::both:
      return fmt::format("product and {}", kind);
    case OverlapPart::product_beside:
      return fmt::format("product beside {}", kind);
  }
  return "?";
}

}  // namespace

std::vector<OverlapPoint> overlap_points(int ranks, const OverlapProduct& product,
                                         std::int64_t most_bytes) {
  std::vector<OverlapPoint> points;
  if (product.n == 0 || ranks < 2) return points;
  const std::int64_t bytes = std::min(kOverlapBytes, most_bytes);
  points.push_back(
      {OverlapPart::product, {.group = ranks, .ranks = ranks, .bytes = bytes}, product});
  for (const Collective kind :
       {Collective::all_gather, Collective::reduce_scatter, Collective::all_reduce,
        Collective::all_to_all, Collective::send_recv}) {
    CollectivePoint c{.kind = kind, .group = ranks, .ranks = ranks, .bytes = bytes};
    if (kind == Collective::send_recv) {
      c.group = 2;
      c.ranks = ranks / 2 * 2;
      c.messages = Messages::in_one_call;  // others have streams of their own, behind the product
    }
    for (const OverlapPart part :
         {OverlapPart::collective, OverlapPart::both, OverlapPart::product_beside})
      points.push_back({part, c, product});
  }
  return points;
}

std::string name_of(const OverlapPoint& p) {
  if (p.part == OverlapPart::product) {
    return fmt::format("overlap: product alone, {0}x{0}x{0}, {1} ranks", p.product.n,
                       p.collective.ranks);
  }
  return fmt::format("overlap: {}, {}, {}", name_of(p.collective), name_of(p.part), p.product.n);
}

Sample sample_of(const OverlapPoint& p, const Timing& t) {
  const double bytes = p.part == OverlapPart::product ? 0 : wire_bytes(p.collective);
  return {.name = name_of(p),
          .point = OtherSample{what_of(p), Bytes(bytes)},
          .time = Seconds(median(t.seconds)),
          .repeats = t.repeats,
          .raw = t.seconds};
}

Timing time_overlap(RankRunner& runner, const OverlapPoint& p, const TimingLimits& limits) {
  const CollectivePoint& c = p.collective;
  const auto prepare = [&](Communicator& comm, Device& device) -> RankCall {
    const auto product = std::make_shared<Product>(device, p.product);
    if (p.part == OverlapPart::product) {
      return {.call = [product] { product->run_timed(); },
              .seconds = [product] { return product->seconds(); }};
    }
    const auto work = std::make_shared<RankWork>(comm, device, c);
    switch (p.part) {
      case OverlapPart::product_beside:
        return {.call = [&device, product,
                         work] { side_by_side(device, *work, [&] { product->run_timed(); }); },
                .seconds = [product] { return product->seconds(); }};
      case OverlapPart::both:
        return {.call = [&device, product, work] {
          side_by_side(device, *work, [&] { product->run(); });
        }};
      case OverlapPart::product:
      case OverlapPart::collective:
        return {.call = [&device, work] { side_by_side(device, *work, [] {}); }};
    }
    return {};
  };
  return time_on_ranks(runner, {.ranks = c.ranks, .group = c.group, .stride = c.stride}, limits,
                       prepare);
}

}  // namespace pleat
