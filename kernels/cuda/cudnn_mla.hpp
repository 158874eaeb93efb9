// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// MLA through cuDNN: keys, whose rotary part all heads share, are put together for some heads at a
// time, so that their copies stay small. Causal, with windows and packed documents as pieces.
#pragma once

#include "kernels/cuda/cudnn_sequences.hpp"

namespace pleat::cuda {

// KernelSet::mla_attention's operands, or their gradients.
struct MlaOperands {
  View q, kv, kpe;
};

class CudnnMla {
 public:
  CudnnMla(Resources& r, SdpaLibrary& library) : r_(r), library_(library) {}

  // False where cuDNN has no kernel for it or operands are not bf16: nothing was done.
  [[nodiscard]] bool forward(const MlaOperands&, View o, View lse, const MlaShape&,
                             const VisibleSequences* seen = nullptr);
  [[nodiscard]] bool backward(View d_o, const MlaOperands&, View o, View lse, const MlaOperands& to,
                              const MlaShape&, const VisibleSequences* seen = nullptr,
                              bool add = false);
  // Pieces of two parts, laid out as MLA's operands are.
  [[nodiscard]] bool forward(const AttentionPiece&, HeadColumns o, View lse);
  [[nodiscard]] bool backward(const AttentionPiece&, HeadColumns d_o, HeadColumns o, View lse,
                              const AttentionPieceGradient&);

 private:
  Resources& r_;
  SdpaLibrary& library_;
};

}  // namespace pleat::cuda
