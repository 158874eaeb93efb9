// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Token table and vocabulary-parallel cross entropy: one shard, uneven shards, extreme logits.
#include <cmath>

#include "tests/kernels/conformance/attention_reference.hpp"
#include "tests/kernels/conformance/suite.hpp"

namespace pleat::conformance {
namespace {

TEST_P(KernelConformance, EmbeddingAndItsGradient) {
  const std::vector<std::int32_t> tokens = {3, 0, 3, 6, 3};
  for (const std::int64_t count : {0, 1, 5}) {
    for (const std::int64_t hidden : {1, 7, 32}) {
      const std::vector<std::int32_t> some(tokens.begin(), tokens.begin() + count);
      const Matrix w = random_matrix(7, hidden, 1), dx = random_matrix(count, hidden, 2);
      const Matrix before = random_matrix(7, hidden, 3);
      Matrix x(count, hidden), dw = before;
      for (std::int64_t t = 0; t < count; ++t) {
        for (std::int64_t h = 0; h < hidden; ++h) {
          x(t, h) = w(some[static_cast<std::size_t>(t)], h);
          dw(some[static_cast<std::size_t>(t)], h) += dx(t, h);
        }
      }
      const View vt = in_i32(some, 1, count), vx = out(count, hidden), vdw = inout(before);
      k().embedding(vt, in(w), 0, vx);
      k().embedding_bwd(in(dx), vt, 0, vdw);
      EXPECT_EQ(get(vx), x);
      expect_close(get(vdw), dw, "dw", 1e-6);
      // Shards of 3 and 4 rows: their sum is the row, each has its part of the gradient.
      Matrix sum(count, hidden);
      for (const auto& [first, rows] : {std::pair<std::int64_t, std::int64_t>{0, 3}, {3, 4}}) {
        const View part = out(count, hidden), dpart = inout(piece(before, first, rows, 0, hidden));
        k().embedding(vt, in(piece(w, first, rows, 0, hidden)), first, part);
        k().embedding_bwd(in(dx), vt, first, dpart);
        const Matrix got = get(part);
        for (std::size_t i = 0; i < sum.values.size(); ++i) sum.values[i] += got.values[i];
        expect_close(get(dpart), piece(dw, first, rows, 0, hidden), "dw of a shard", 1e-6);
      }
      EXPECT_EQ(sum, x);
    }
  }
}

// The sum over rows whose label is not negative, [1,1].
Matrix cross_entropy(const Matrix& logits, const std::vector<std::int32_t>& labels) {
  Matrix loss(1, 1);
  for (std::int64_t r = 0; r < logits.rows; ++r) {
    if (labels[static_cast<std::size_t>(r)] < 0) continue;
    double max = logits(r, 0), sum = 0;
    for (std::int64_t c = 0; c < logits.cols; ++c) max = std::max(max, logits(r, c));
    for (std::int64_t c = 0; c < logits.cols; ++c) sum += std::exp(logits(r, c) - max);
    loss(0, 0) += std::log(sum) + max - logits(r, labels[static_cast<std::size_t>(r)]);
  }
  return loss;
}

TEST_P(KernelConformance, CrossEntropyOverVocabularyShards) {
  const std::vector<std::vector<std::int64_t>> splits = {{1}, {20}, {7, 13}, {1, 16, 33, 7}};
  for (const auto& widths : splits) {
    for (const std::int64_t rows : {0, 1, 6}) {
      for (const double size : {2.0, 200.0}) {
        std::int64_t vocab = 0;
        for (const std::int64_t w : widths) vocab += w;
        const Matrix logits = random_matrix(rows, vocab, 1, size);
        std::vector<std::int32_t> labels;
        for (std::int64_t r = 0; r < rows; ++r) {
          labels.push_back(r == 3 ? -1 : static_cast<int>((r * 11 + vocab - 1) % vocab));
        }
        const double scale = 0.25;
        const double loss = 1.5 + scale * cross_entropy(logits, labels)(0, 0);
        const Matrix d_loss(1, 1, scale);
        const Matrix dlogits = numeric_gradient(
            logits, d_loss, [&](const Matrix& v) { return cross_entropy(v, labels); });

        Matrix gathered(std::ssize(widths) * rows, 3);
        std::int64_t offset = 0;
        for (std::size_t s = 0; s < widths.size(); offset += widths[s++]) {
          const View stats = out(rows, 3);
          k().ce_stats(in(piece(logits, 0, rows, offset, widths[s])), in_i32(labels, 1, rows),
                       {offset, vocab}, stats);
          add_piece(gathered, get(stats), static_cast<std::int64_t>(s) * rows, 0);
        }
        offset = 0;
        for (std::size_t s = 0; s < widths.size(); offset += widths[s++]) {
          const View shard = inout(piece(logits, 0, rows, offset, widths[s]));
          const View total = inout(Matrix(1, 1, 1.5));
          k().ce_loss(shard, in_i32(labels, 1, rows), {offset, vocab}, in(gathered), scale, {},
                      total);
          EXPECT_NEAR(get(total)(0, 0), loss, 1e-5 * (1 + std::abs(loss)));
          expect_close(get(shard), piece(dlogits, 0, rows, offset, widths[s]), "dlogits");
        }
      }
    }
  }
}

// A prediction depth's rows have a factor and a sum of their own; a label of -1 counts nowhere.
TEST_P(KernelConformance, CrossEntropyOfTwoHalvesWithoutSomeLabels) {
  const Matrix logits = random_matrix(4, 5, 1, 3);
  const std::vector<std::int32_t> labels{2, 0, -1, 4};
  const View stats = out(4, 3), shard = inout(logits), loss = inout(Matrix(1, 2, 1));
  k().ce_stats(in(logits), in_i32(labels, 1, 4), {0, 5}, stats);
  k().ce_loss(shard, in_i32(labels, 1, 4), {0, 5}, stats, 0.5, {4, 0.125}, loss);
  const auto part = [&](std::int64_t first, std::int64_t rows, std::vector<std::int32_t> l) {
    return cross_entropy(piece(logits, first, rows, 0, 5), l)(0, 0);
  };
  EXPECT_NEAR(get(loss)(0, 0), 1 + 0.5 * part(0, 2, {2, 0}), 1e-6);
  EXPECT_NEAR(get(loss)(0, 1), 1 + 0.125 * part(3, 1, {4}), 1e-6);
  const Matrix got = get(shard);
  const auto slope = [&](std::int64_t row, std::int32_t label, double factor) {
    return numeric_gradient(piece(logits, row, 1, 0, 5), Matrix(1, 1, factor),
                            [&](const Matrix& v) { return cross_entropy(v, {label}); });
  };
  expect_close(piece(got, 0, 1, 0, 5), slope(0, 2, 0.5), "first half");
  EXPECT_EQ(piece(got, 2, 1, 0, 5), Matrix(1, 5));
  expect_close(piece(got, 3, 1, 0, 5), slope(3, 4, 0.125), "second half");
}

// Two sequences of one position, of the model's own rows and of three depths each.
TEST_P(KernelConformance, CrossEntropyOfThreeDepths) {
  const Matrix logits = random_matrix(8, 5, 1, 3);
  const std::vector<std::int32_t> labels{2, 0, 4, 1, 3, -1, 0, 2};
  const DepthRows depth{.every = 4, .scale = 0.125, .depths = 3, .seq = 6};
  const double factors[] = {0.5, 0.125, 0.125 * 5 / 4, 0.125 * 5 / 3};
  const View stats = out(8, 3), shard = inout(logits), loss = inout(Matrix(1, 2, 1));
  k().ce_stats(in(logits), in_i32(labels, 1, 8), {0, 5}, stats);
  k().ce_loss(shard, in_i32(labels, 1, 8), {0, 5}, stats, 0.5, depth, loss);
  double want[] = {1, 1};
  for (std::int64_t r = 0; r < 8; ++r) {
    const std::int32_t label = labels[static_cast<std::size_t>(r)];
    const Matrix row = piece(logits, r, 1, 0, 5);
    want[r % 4 > 0] += factors[r % 4] * cross_entropy(row, {label})(0, 0);
    expect_close(piece(get(shard), r, 1, 0, 5),
                 numeric_gradient(row, Matrix(1, 1, factors[r % 4]),
                                  [&](const Matrix& v) { return cross_entropy(v, {label}); }),
                 "dlogits");
  }
  EXPECT_NEAR(get(loss)(0, 0), want[0], 1e-6);
  EXPECT_NEAR(get(loss)(0, 1), want[1], 1e-6);
}

// The rows of a part are told by its first one: gradients have the bits of all rows at once.
TEST_P(KernelConformance, CrossEntropyInParts) {
  const Matrix logits = random_matrix(12, 5, 1, 3);
  const std::vector<std::int32_t> labels{2, 0, 4, 1, 3, -1, 0, 2, 1, 1, 4, 0};
  DepthRows depth{.every = 6, .scale = 0.125, .depths = 2, .seq = 6};
  const View stats = out(12, 3), at_once = inout(logits), loss = inout(Matrix(1, 2, 1));
  k().ce_stats(in(logits), in_i32(labels, 1, 12), {0, 5}, stats);
  k().ce_loss(at_once, in_i32(labels, 1, 12), {0, 5}, stats, 0.5, depth, loss);
  for (const std::int64_t rows : {1, 3, 4}) {  // whole parts of depths, and pieces of them
    const View sum = inout(Matrix(1, 2, 1));
    for (depth.first = 0; depth.first < 12; depth.first += rows) {
      const std::vector<std::int32_t> some(labels.begin() + depth.first,
                                           labels.begin() + depth.first + rows);
      const View part = inout(piece(logits, depth.first, rows, 0, 5)), of_part = out(rows, 3);
      k().ce_stats(in(piece(logits, depth.first, rows, 0, 5)), in_i32(some, 1, rows), {0, 5},
                   of_part);
      k().ce_loss(part, in_i32(some, 1, rows), {0, 5}, of_part, 0.5, depth, sum);
      EXPECT_EQ(get(part), piece(get(at_once), depth.first, rows, 0, 5)) << depth.first;
    }
    expect_close(get(sum), get(loss), "loss", 1e-6);
  }
}

TEST_P(KernelConformance, CrossEntropyStatsLeaveForeignLabelsOut) {
  Matrix logits(2, 3);
  logits.values = {1, 3, 2, -5, -5, -5};
  const View inside = out(2, 3), outside = out(2, 3);
  k().ce_stats(in(logits), in_i32({11, 12}, 1, 2), {10, 13}, inside);
  k().ce_stats(in(logits), in_i32({9, 13}, 1, 2), {10, 20}, outside);
  const double sum = std::exp(-2.0) + 1 + std::exp(-1.0);
  Matrix want(2, 3);
  want.values = {3, sum, 3, -5, 3, -5};
  expect_close(get(inside), want, "stats", 1e-6);
  want.values = {3, sum, 0, -5, 3, 0};
  expect_close(get(outside), want, "stats", 1e-6);
}

// A vocabulary of 12 in shards that end at 13 and at 16: one column of padding, three of them.
TEST_P(KernelConformance, CrossEntropyLeavesPaddingOut) {
  Matrix logits(1, 3);
  logits.values = {1, 3, 9};
  const View stats = out(1, 3), none_left = out(1, 3);
  k().ce_stats(in(logits), in_i32({11}, 1, 1), {10, 12}, stats);
  k().ce_stats(in(logits), in_i32({11}, 1, 1), {13, 12}, none_left);
  Matrix want(1, 3);
  want.values = {3, 1 + std::exp(-2.0), 3};
  expect_close(get(stats), want, "stats", 1e-6);
  Matrix gathered(2, 3);
  add_piece(gathered, get(stats), 0, 0);
  add_piece(gathered, get(none_left), 1, 0);
  EXPECT_EQ(gathered(1, 1), 0);
  const double sum = 1 + std::exp(-2.0);
  for (const std::int64_t first : {10, 13}) {
    const View shard = inout(logits), loss = inout(Matrix(1, 1));
    k().ce_loss(shard, in_i32({11}, 1, 1), {first, 12}, in(gathered), 0.5, {}, loss);
    want.values = {0, 0, 0};
    if (first == 10) want.values = {0.5 * std::exp(-2.0) / sum, 0.5 * (1 / sum - 1), 0};
    expect_close(get(shard), want, "dlogits", 1e-6);
    EXPECT_NEAR(get(loss)(0, 0), 0.5 * std::log(sum), 1e-6);
  }
}

// Rows with and without a label that counts, the last column padding: NaN in the stats of a row
// that does not count reaches nothing.
TEST_P(KernelConformance, CrossEntropyLeavesNegativeLabelsOut) {
  Matrix logits(2, 3), gathered(2, 3), want(2, 3);
  logits.values = {4, 5, 6, 1, 3, 9};
  gathered.values = {NAN, NAN, NAN, 3, 1 + std::exp(-2.0), 3};
  const View shard = inout(logits), loss = inout(Matrix(1, 1));
  k().ce_loss(shard, in_i32({-1, 1}, 1, 2), {0, 2}, in(gathered), 0.5, {}, loss);
  const double sum = 1 + std::exp(-2.0);
  want.values = {0, 0, 0, 0.5 * std::exp(-2.0) / sum, 0.5 * (1 / sum - 1), 0};
  expect_close(get(shard), want, "dlogits", 1e-6);
  EXPECT_NEAR(get(loss)(0, 0), 0.5 * std::log(sum), 1e-6);
}

}  // namespace
}  // namespace pleat::conformance
