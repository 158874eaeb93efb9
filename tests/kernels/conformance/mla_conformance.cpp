// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Multi-head latent attention: the rotary part of k is shared, so its gradient adds over heads.
#include <cmath>

#include "tests/kernels/conformance/attention_reference.hpp"
#include "tests/kernels/conformance/suite.hpp"

namespace pleat::conformance {
namespace {

const MlaShape kShapes[] = {
    {.batch = 1, .seq = 1, .heads = 1, .nope = 1, .rope = 2, .v = 1, .kv_lora = 1, .scale = 1},
    {.batch = 2, .seq = 0, .heads = 1, .nope = 1, .rope = 2, .v = 1, .kv_lora = 1, .scale = 1},
    {.batch = 2, .seq = 5, .heads = 3, .nope = 4, .rope = 2, .v = 3, .kv_lora = 6, .scale = 0.4},
    {.batch = 1, .seq = 33, .heads = 2, .nope = 8, .rope = 4, .v = 8, .kv_lora = 5, .scale = 0.3},
    {.batch = 2, .seq = 97, .heads = 2, .nope = 3, .rope = 6, .v = 10, .kv_lora = 7, .scale = 0.3}};

TEST_P(KernelConformance, MlaAttention) {
  for (const MlaShape& s : kShapes) {
    SCOPED_TRACE(::testing::Message() << s.batch << "x" << s.seq);
    const std::int64_t rows = s.batch * s.seq, wq = s.nope + s.rope, wkv = s.nope + s.v;
    const Matrix q = random_matrix(rows, s.heads * wq, 1, 2);
    const Matrix kv = random_matrix(rows, s.heads * wkv, 2, 2);
    const Matrix kpe = random_matrix(rows, s.kv_lora + s.rope, 3, 2);
    const Matrix d_o = random_matrix(rows, s.heads * s.v, 4);
    Matrix o(rows, s.heads * s.v), lse(rows, s.heads), dq(rows, q.cols), dkv(rows, kv.cols);
    Matrix dkpe(rows, kpe.cols);
    for (std::int64_t b = 0; b < s.batch; ++b) {
      for (std::int64_t h = 0; h < s.heads; ++h) {
        const std::int64_t row = b * s.seq;
        const Matrix head_q = piece(q, row, s.seq, h * wq, wq);
        const Matrix head_k = beside(piece(kv, row, s.seq, h * wkv, s.nope),
                                     piece(kpe, row, s.seq, s.kv_lora, s.rope));
        const Matrix head_v = piece(kv, row, s.seq, h * wkv + s.nope, s.v);
        const HeadOutput head = attend(head_q, head_k, head_v, s.scale);
        add_piece(o, head.o, row, h * s.v);
        add_piece(lse, head.lse, row, h);
        const HeadGradient g =
            attend_bwd(piece(d_o, row, s.seq, h * s.v, s.v), head_q, head_k, head_v, s.scale);
        add_piece(dq, g.dq, row, h * wq);
        add_piece(dkv, piece(g.dk, 0, s.seq, 0, s.nope), row, h * wkv);
        add_piece(dkv, g.dv, row, h * wkv + s.nope);
        add_piece(dkpe, piece(g.dk, 0, s.seq, s.nope, s.rope), row, s.kv_lora);
      }
    }
    const View vq = in(q), vkv = in(kv), vkpe = in(kpe);
    const View vo = out(rows, o.cols), vlse = out(rows, s.heads);
    k().mla_attention(vq, vkv, vkpe, vo, vlse, s);
    expect_close(get(vo), o, "o", 2e-5);
    expect_close(get(vlse), lse, "lse");

    const View vdq = out(rows, q.cols), vdkv = out(rows, kv.cols);
    const View vdkpe = inout(Matrix(rows, kpe.cols, 42));
    k().mla_attention_bwd(in(d_o), vq, vkv, vkpe, vo, vlse, vdq, vdkv, vdkpe, s);
    expect_close(get(vdq), dq, "dq", 1e-4);
    expect_close(get(vdkv), dkv, "dkv", 1e-4);
    const Matrix got = get(vdkpe);
    expect_close(piece(got, 0, rows, s.kv_lora, s.rope), piece(dkpe, 0, rows, s.kv_lora, s.rope),
                 "dkpe", 1e-4);
    EXPECT_EQ(piece(got, 0, rows, 0, s.kv_lora), Matrix(rows, s.kv_lora, 42)) << "left alone";
  }
}

}  // namespace
}  // namespace pleat::conformance
