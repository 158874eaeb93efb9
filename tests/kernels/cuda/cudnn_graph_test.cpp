// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The graphs that go to cuDNN, as its front end judges them for sm_90; no GPU is needed, libcudnn
// is.
#include <gtest/gtest.h>

#include "kernels/cuda/cudnn_sdpa.hpp"

namespace pleat::cuda {
namespace {

// Heads packed in rows of q | k | v.
SdpaShape grouped_heads(std::int64_t heads, std::int64_t groups, std::int64_t width,
                        bool backward) {
  const SdpaOperand head{(heads + 2 * groups) * width, width};
  return {.batch = 2, .seq = 4096, .heads = heads, .groups = groups, .width = width,
          .value_width = width, .q = head, .k = head, .v = head, .o = {heads * width, width},
          .scale = 0.09F, .backward = backward};
}

SdpaShape mla(bool backward) {
  return {.batch = 1, .seq = 4096, .heads = 16, .groups = 16, .width = 192, .value_width = 128,
          .q = {128 * 192, 192}, .k = {16 * 192, 192}, .v = {128 * 256, 256}, .o = {128 * 128, 128},
          .scale = 0.07F, .backward = backward};
}

TEST(CudnnGraph, FrontEndAcceptsOurLayouts) {
  if (!SdpaLibrary::available()) GTEST_SKIP() << "no libcudnn.so.9";
  for (const bool backward : {false, true}) {
    EXPECT_EQ(SdpaLibrary::objection(grouped_heads(32, 8, 128, backward)), "");
    EXPECT_EQ(SdpaLibrary::objection(grouped_heads(16, 16, 64, backward)), "");
    EXPECT_EQ(SdpaLibrary::objection(mla(backward)), "");
    EXPECT_EQ(SdpaLibrary::objection(mla(backward), false), "");
    EXPECT_EQ(SdpaLibrary::objection(grouped_heads(32, 8, 128, backward), false), "");
  }
}

TEST(CudnnGraph, FrontEndAcceptsWindowsAndSequencesOfTheirOwnLengths) {
  if (!SdpaLibrary::available()) GTEST_SKIP() << "no libcudnn.so.9";
  for (const bool backward : {false, true}) {
    SdpaShape window = grouped_heads(32, 8, 128, backward);
    window.window = 1024;
    EXPECT_EQ(SdpaLibrary::objection(window), "");
    SdpaShape ragged = grouped_heads(32, 8, 128, backward);
    ragged.ragged = true;
    ragged.batch = 16;
    EXPECT_EQ(SdpaLibrary::objection(ragged), "");
    ragged.window = 512;
    EXPECT_EQ(SdpaLibrary::objection(ragged), "");
    SdpaShape narrow = mla(backward);
    narrow.window = 1024;
    EXPECT_EQ(SdpaLibrary::objection(narrow), "");
    narrow.ragged = true;
    narrow.batch = 16;
    EXPECT_EQ(SdpaLibrary::objection(narrow), "");
    window.window = -1;
    EXPECT_EQ(SdpaLibrary::objection(window), "") << "no window";
  }
}

// Half of the queries and all keys of another rank, all queries and half of its keys; gradients
// packed.
TEST(CudnnGraph, FrontEndAcceptsBlocks) {
  if (!SdpaLibrary::available()) GTEST_SKIP() << "no libcudnn.so.9";
  for (const bool backward : {false, true}) {
    for (SdpaShape s : {grouped_heads(32, 8, 128, backward), mla(backward)}) {
      s.batch = 1;
      s.dq = {s.heads * s.width, s.width};
      s.dk = {s.groups * s.width, s.width};
      s.dv = {s.groups * s.value_width, s.value_width};
      s.unmasked = true;
      for (const std::int64_t keys : {2048, 4096, 8192}) {
        s.keys = keys;
        EXPECT_EQ(SdpaLibrary::objection(s), "") << keys;
        EXPECT_EQ(SdpaLibrary::objection(s, false), "") << keys;
      }
    }
  }
}

TEST(CudnnGraph, FrontEndAcceptsCodes) {
  if (!SdpaLibrary::available()) GTEST_SKIP() << "no libcudnn.so.9";
  for (const std::int64_t width : {64, 128}) {
    SdpaShape codes = grouped_heads(32, 8, width, false);
    codes.codes = true;
    EXPECT_EQ(SdpaLibrary::objection(codes), "") << width;
  }
  SdpaShape narrow = grouped_heads(32, 8, 40, false);  // no multiple of 16
  narrow.codes = true;
  EXPECT_NE(SdpaLibrary::objection(narrow), "");
}

TEST(CudnnGraph, FrontEndRefusesWhatCudnnHasNoKernelFor) {
  if (!SdpaLibrary::available()) GTEST_SKIP() << "no libcudnn.so.9";
  EXPECT_NE(SdpaLibrary::objection(grouped_heads(32, 8, 12, false)), "");
  EXPECT_NE(SdpaLibrary::objection(grouped_heads(32, 5, 128, false)), "");
}

}  // namespace
}  // namespace pleat::cuda
