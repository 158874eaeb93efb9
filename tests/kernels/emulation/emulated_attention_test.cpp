// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Attention as it goes to cuDNN, which loops stand in for, against our own kernels: heads in
// groups, MLA, sliding windows, and documents of their own lengths, forward and backward.
#include <array>

#include "kernels/cuda/cudnn_sdpa.hpp"
#include "kernels/cuda/device_error.hpp"
#include "tests/kernels/emulation/emulated_attention.hpp"

namespace pleat::conformance {
namespace {

constexpr std::int64_t kBatch = 2, kSeq = 22, kRows = kBatch * kSeq, kHeads = 4;
constexpr std::int64_t kNope = 16, kRope = 8, kValue = 24, kLora = 8, kHead = 16, kGroups = 2;

// What a query sees: all before it, `window` keys, or those from the last of `documents` on.
std::vector<std::int32_t> ranges(std::int64_t window, const std::vector<std::int64_t>& documents) {
  std::vector<std::int32_t> all;
  for (std::int64_t row = 0; row < kRows; ++row) {
    const std::int64_t i = row % kSeq;
    std::int64_t first = 0;
    for (const std::int64_t d : documents) {
      if (d <= row && d / kSeq == row / kSeq) first = std::max(first, d % kSeq);
    }
    if (window > 0) first = std::max(first, i + 1 - window);
    all.insert(all.end(), {static_cast<std::int32_t>(first), static_cast<std::int32_t>(i + 1)});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Emulated, EmulatedHeads, testing::Bool(),
                         [](const auto& info) { return info.param ? "few" : "all"; });

TEST(EmulatedAttention, FewHeadsWhereScoresFillTheWorkspace) {
  cuda::SdpaShape s;
  s.batch = 4;
  s.seq = 4096;
  s.heads = 32;
  s.groups = 8;
  s.backward = true;
  EXPECT_EQ(cuda::heads_at_once(s, true), 8);  // 2^30 bytes
  EXPECT_EQ(cuda::heads_at_once(s, false), 32);
  s.seq = 4097;  // of rows in sixty-fours
  EXPECT_EQ(cuda::heads_at_once(s, true), 4);
  s.seq = 1 << 17;
  EXPECT_EQ(cuda::heads_at_once(s, true), 4);  // those that share a key
  s.backward = false;
  EXPECT_EQ(cuda::heads_at_once(s, true), 32);
}

TEST_P(EmulatedHeads, HeadsInGroups) {
  const AttentionShape s{kBatch, kSeq, kHeads, kGroups, kHead, 0.3};
  expect_like_our_own(
      [&](KernelSet& k) {
        Numbers qkv(kRows, s.columns(), 1), d_o(kRows, kHeads * kHead, 2),
            o(kRows, kHeads * kHead, 3);
        Numbers dqkv(kRows, s.columns(), 4);
        std::vector<float> lse(kRows * kHeads);
        const View stats{lse.data(), DType::fp32, kRows, kHeads};
        k.attention(qkv.view, o.view, stats, s);
        k.attention_bwd(d_o.view, qkv.view, o.view, stats, dqkv.view, s);
        return std::vector{o.matrix(), fp32(lse, kHeads), dqkv.matrix()};
      },
      1 + (GetParam() ? kGroups : 1));
}

// 16 GB of scores for eight heads that share a key at 32,768 tokens: runs of 2,048 queries.
TEST(EmulatedAttention, RunsOfQueriesWhereHeadsThatShareAKeyHaveTooManyScores) {
  ScoreGradients s{.batch = 1, .heads = 64, .groups = 8, .rows = 32768, .keys = 32768};
  EXPECT_TRUE(goes_in_runs(s));
  EXPECT_EQ(rows_at_once(s), 2048);
  s.rows = s.keys = 16384;  // 4 GiB
  EXPECT_FALSE(goes_in_runs(s));
  s.batch = 2;
  EXPECT_TRUE(goes_in_runs(s));
  EXPECT_EQ(rows_at_once(s), 4096);
}

TEST(EmulatedAttention, RunsOfQueriesHaveTheGradientsOfAllAtOnce) {
  const std::int64_t seq = 300, rows = kBatch * seq;  // two runs of 128 and one of 44
  const AttentionShape s{kBatch, seq, kHeads, kGroups, kHead, 0.3};
  const std::int64_t scores = cuda::most_score_bytes, group = cuda::most_group_bytes;
  cuda::most_score_bytes = cuda::most_group_bytes = 1;
  expect_like_our_own(
      [&](KernelSet& k) {
        Numbers qkv(rows, s.columns(), 1), d_o(rows, kHeads * kHead, 2), o(rows, kHeads * kHead, 3);
        Numbers dqkv(rows, s.columns(), 4);
        std::vector<float> lse(static_cast<std::size_t>(rows * kHeads));
        const View stats{lse.data(), DType::fp32, rows, kHeads};
        k.attention(qkv.view, o.view, stats, s);
        k.attention_bwd(d_o.view, qkv.view, o.view, stats, dqkv.view, s);
        return std::vector{o.matrix(), dqkv.matrix()};
      },
      1 + static_cast<int>(kBatch * kGroups * 5));  // five blocks of a sequence
  cuda::most_score_bytes = scores;
  cuda::most_group_bytes = group;
}

TEST_P(EmulatedHeads, Mla) {
  const MlaShape s{.batch = kBatch, .seq = kSeq, .heads = kHeads, .nope = kNope, .rope = kRope,
                   .v = kValue, .kv_lora = kLora, .scale = 0.25};
  expect_like_our_own(
      [&](KernelSet& k) {
        Numbers q(kRows, kHeads * (kNope + kRope), 1), kv(kRows, kHeads * (kNope + kValue), 2);
        Numbers kpe(kRows, kLora + kRope, 3), o(kRows, kHeads * kValue, 4),
            d_o(kRows, kHeads * kValue, 5);
        Numbers dq(kRows, q.view.cols, 6), dkv(kRows, kv.view.cols, 7),
            dkpe(kRows, kpe.view.cols, 8);
        std::vector<float> lse(kRows * kHeads);
        const View stats{lse.data(), DType::fp32, kRows, kHeads};
        k.mla_attention(q.view, kv.view, kpe.view, o.view, stats, s);
        k.mla_attention_bwd(d_o.view, q.view, kv.view, kpe.view, o.view, stats, dq.view, dkv.view,
                            dkpe.view, s);
        return std::vector{o.matrix(), fp32(lse, kHeads), dq.matrix(), dkv.matrix(), dkpe.matrix()};
      },
      1 + (GetParam() ? kHeads : 1));
}

struct Seen {
  std::int64_t window;
  std::vector<std::int64_t> documents;  // rows at which one begins, beside those of the runs
};
const std::vector<Seen>& all_seen() {
  static const std::vector<Seen> all{{0, {}}, {5, {}}, {0, {3, 20, 30}}, {4, {12, 25}}};
  return all;
}

// A gradient's numbers are added to.
TEST_P(EmulatedHeads, PiecesOfPackedHeads) {
  const std::int64_t cols = (kHeads + 2 * kGroups) * kHead;
  for (const Seen& seen : all_seen()) {
    SCOPED_TRACE(testing::Message() << "window " << seen.window << ", " << seen.documents.size());
    const std::vector<std::int32_t> visible = ranges(seen.window, seen.documents);
    expect_like_our_own(
        [&](KernelSet& k) {
          Numbers qkv(kRows, cols, 1), o(kRows, kHeads * kHead, 2), d_o(kRows, kHeads * kHead, 3);
          Numbers gradient(kRows, cols, 4);
          std::vector<float> lse(kRows * kHeads);
          const View stats{lse.data(), DType::fp32, kRows, kHeads};
          const auto columns = [](View x) {
            const std::int64_t share = kHeads / kGroups;
            return std::array{HeadColumns{x, 0, kHead, kHead},
                              HeadColumns{x, kHeads * kHead, kHead, kHead, share},
                              HeadColumns{x, (kHeads + kGroups) * kHead, kHead, kHead, share}};
          };
          const auto x = columns(qkv.view), g = columns(gradient.view);
          const AttentionPiece p{
              .batch = kBatch,
              .heads = kHeads,
              .scale = 0.3,
              .q = {x[0], {}},
              .k = {x[1], {}},
              .v = x[2],
              .visible = reinterpret_cast<const std::int32_t(*)[2]>(visible.data())};
          const HeadColumns to{o.view, 0, kHead, kHead}, from{d_o.view, 0, kHead, kHead};
          k.attention_piece(p, to, stats, false);
          k.attention_piece_bwd(p, from, to, stats, {{g[0], {}}, {g[1], {}}, g[2]});
          return std::vector{o.matrix(), fp32(lse, kHeads), gradient.matrix()};
        },
        1 + (GetParam() ? kGroups : 1));
  }
}

// A key with a score and no value before the others': what cuDNN makes of those is joined with it.
TEST(EmulatedAttention, GoesOnFromSinks) {
  const std::vector<std::int32_t> visible = ranges(5, {});
  expect_like_our_own(
      [&](KernelSet& k) {
        Numbers qkv(kRows, 3 * kHeads * kHead, 1), o(kRows, kHeads * kHead, 2);
        Numbers d_o(kRows, kHeads * kHead, 3), gradient(kRows, 3 * kHeads * kHead, 4);
        Numbers sinks(1, kHeads, 5);
        std::vector<float> lse(kRows * kHeads), dsinks(kHeads);
        const View stats{lse.data(), DType::fp32, kRows, kHeads};
        const auto part = [](View x, std::int64_t i) {
          return HeadColumns{x, i * kHeads * kHead, kHead, kHead};
        };
        const AttentionPiece p{
            .batch = kBatch,
            .heads = kHeads,
            .scale = 0.3,
            .q = {part(qkv.view, 0), {}},
            .k = {part(qkv.view, 1), {}},
            .v = part(qkv.view, 2),
            .visible = reinterpret_cast<const std::int32_t(*)[2]>(visible.data())};
        const HeadColumns to = part(o.view, 0), from = part(d_o.view, 0);
        k.start_at_sinks(sinks.view, o.view, stats);
        k.attention_piece(p, to, stats, true);
        k.sinks_bwd(d_o.view, o.view, stats, sinks.view, {dsinks.data(), DType::fp32, 1, kHeads});
        k.attention_piece_bwd(p, from, to, stats,
                              {{part(gradient.view, 0), {}}, {part(gradient.view, 1), {}},
                               part(gradient.view, 2)});
        return std::vector{o.matrix(), fp32(lse, kHeads), fp32(dsinks, kHeads), gradient.matrix()};
      },
      2);
}

// In codes, values a hundred times as large as queries: forward of codes with a scale an operand,
// with and without a sink before, backward of what these codes stand for. Three digits of
// probabilities and of o are left.
TEST(EmulatedAttention, CodesOfPackedHeads) {
  constexpr std::int64_t kCols = (kHeads + 2 * kGroups) * kHead, kShare = kHeads / kGroups;
  const std::vector<std::int32_t> visible = ranges(0, {});
  for (const bool sinks : {false, true}) {
    const auto run = [&](DType math) {
      return [&, math](KernelSet& k) {
        Numbers qkv(kRows, kCols, 1), o(kRows, kHeads * kHead, 2), d_o(kRows, kHeads * kHead, 3);
        Numbers gradient(kRows, kCols, 4), sink(1, kHeads, 5);
        std::ranges::fill(gradient.values, to_bf16(0));
        for (std::size_t i = 0; i < qkv.values.size(); ++i) {
          if (static_cast<std::int64_t>(i) % kCols < (kHeads + kGroups) * kHead) continue;
          qkv.values[i] = to_bf16(100 * to_float(qkv.values[i]));
        }
        std::vector<float> lse(kRows * kHeads);
        const View stats{lse.data(), DType::fp32, kRows, kHeads};
        const auto columns = [](View x) {
          return std::array{HeadColumns{x, 0, kHead, kHead},
                            HeadColumns{x, kHeads * kHead, kHead, kHead, kShare},
                            HeadColumns{x, (kHeads + kGroups) * kHead, kHead, kHead, kShare}};
        };
        const auto x = columns(qkv.view), g = columns(gradient.view);
        const AttentionPiece p{
            .batch = kBatch,
            .heads = kHeads,
            .scale = 0.3,
            .q = {x[0], {}},
            .k = {x[1], {}},
            .v = x[2],
            .visible = reinterpret_cast<const std::int32_t(*)[2]>(visible.data()),
            .math = math};
        const HeadColumns to{o.view, 0, kHead, kHead}, from{d_o.view, 0, kHead, kHead};
        if (sinks) k.start_at_sinks(sink.view, o.view, stats);
        k.attention_piece(p, to, stats, sinks);
        k.attention_piece_bwd(p, from, to, stats, {{g[0], {}}, {g[1], {}}, g[2]});
        return std::vector{o.matrix(), fp32(lse, kHeads), gradient.matrix()};
      };
    };
    const Result got = result_of(true, run(DType::fp8)), want = result_of(false, run(DType::fp8));
    EXPECT_EQ(got.calls, 2);
    for (std::size_t i = 0; i < got.tensors.size(); ++i) {
      expect_close(got.tensors[i], want.tensors[i], ("tensor " + std::to_string(i)).c_str(), 0.08);
    }
    EXPECT_NE(got.tensors[0], result_of(true, run(DType::fp32)).tensors[0]);
  }
}

TEST_P(EmulatedHeads, PiecesOfMla) {
  constexpr std::int64_t kWidth = kNope + kRope, kOwn = kNope + kValue;
  for (const Seen& seen : all_seen()) {
    SCOPED_TRACE(testing::Message() << "window " << seen.window << ", " << seen.documents.size());
    const std::vector<std::int32_t> visible = ranges(seen.window, seen.documents);
    expect_like_our_own(
        [&](KernelSet& k) {
          Numbers q(kRows, kHeads * kWidth, 1), kv(kRows, kHeads * kOwn, 2),
              kpe(kRows, kLora + kRope, 3);
          Numbers o(kRows, kHeads * kValue, 4), d_o(kRows, kHeads * kValue, 5);
          Numbers dq(kRows, q.view.cols, 6), dkv(kRows, kv.view.cols, 7),
              dkpe(kRows, kpe.view.cols, 8);
          std::vector<float> lse(kRows * kHeads);
          const View stats{lse.data(), DType::fp32, kRows, kHeads};
          const AttentionPiece p{
              .batch = kBatch,
              .heads = kHeads,
              .scale = 0.25,
              .q = {{q.view, 0, kWidth, kNope}, {q.view, kNope, kWidth, kRope}},
              .k = {{kv.view, 0, kOwn, kNope}, {kpe.view, kLora, 0, kRope}},
              .v = {kv.view, kNope, kOwn, kValue},
              .visible = reinterpret_cast<const std::int32_t(*)[2]>(visible.data())};
          const HeadColumns to{o.view, 0, kValue, kValue}, from{d_o.view, 0, kValue, kValue};
          k.attention_piece(p, to, stats, false);
          k.attention_piece_bwd(
              p, from, to, stats,
              {{{dq.view, 0, kWidth, kNope}, {dq.view, kNope, kWidth, kRope}},
               {{dkv.view, 0, kOwn, kNope}, {dkpe.view, kLora, 0, kRope}},
               {dkv.view, kNope, kOwn, kValue}});
          return std::vector{o.matrix(), fp32(lse, kHeads), dq.matrix(), dkv.matrix(),
                             dkpe.matrix()};
        },
        1 + (GetParam() ? kHeads : 1));
  }
}

// What no band of keys describes stays with our own kernels.
TEST(EmulatedAttention, OtherPiecesAreOurOwn) {
  std::vector<std::int32_t> visible = ranges(0, {});
  visible[2 * 7 + 1] = 3;  // row 7 does not see itself
  const Result r = result_of(true, [&](KernelSet& k) {
    Numbers qkv(kRows, 3 * kHead, 1), o(kRows, kHead, 2);
    std::vector<float> lse(kRows);
    k.attention_piece({.batch = kBatch,
                       .heads = 1,
                       .scale = 0.3,
                       .q = {{qkv.view, 0, kHead, kHead}, {}},
                       .k = {{qkv.view, kHead, kHead, kHead}, {}},
                       .v = {qkv.view, 2 * kHead, kHead, kHead},
                       .visible = reinterpret_cast<const std::int32_t(*)[2]>(visible.data())},
                      {o.view, 0, kHead, kHead}, {lse.data(), DType::fp32, kRows, 1}, false);
    return std::vector<Matrix>{};
  });
  EXPECT_EQ(r.calls, 0);
}

// A grid's second and third dimension end at 65,535.
TEST(EmulatedAttention, SaysWhichGridIsTooLarge) {
  EmulatedDevice device(false);
  constexpr std::int64_t kMost = 65535;
  for (const auto& [batch, heads] :
       {std::pair{std::int64_t{1}, kMost + 1}, {kMost + 1, std::int64_t{1}}}) {
    const AttentionShape s{batch, 1, heads, heads, 1, 1.0};
    std::vector<float> x(static_cast<std::size_t>(batch * s.columns())), o(x.size() / 3),
        lse(o.size());
    const View qkv{x.data(), DType::fp32, batch, s.columns()};
    const View out{o.data(), DType::fp32, batch, heads},
        stats{lse.data(), DType::fp32, batch, heads};
    try {
      device.kernels().attention(qkv, out, stats, s);
      ADD_FAILURE() << batch << " sequences, " << heads << " heads";
    } catch (const DeviceError& e) {
      EXPECT_NE(std::string(e.what()).find("at most 65535"), std::string::npos) << e.what();
    }
    EXPECT_THROW(device.kernels().attention_bwd(out, qkv, out, stats, qkv, s), DeviceError);
  }
}

}  // namespace
}  // namespace pleat::conformance
