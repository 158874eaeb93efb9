// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A layer program that several stages and plans share. Reads as a LayerProgram; who changes it asks
// for a copy of its own first.
#pragma once

#include <memory>
#include <utility>

#include "core/program/layer_program.hpp"

namespace pleat {

class SharedLayer {
 public:
  SharedLayer(LayerProgram layer)  // NOLINT(google-explicit-constructor): it stands for the layer
      : layer_(std::make_shared<LayerProgram>(std::move(layer))) {}

  operator const LayerProgram&() const { return *layer_; }  // NOLINT
  const LayerProgram* operator->() const { return layer_.get(); }

  // To change: copied first where it is shared.
  LayerProgram& own() {
    if (layer_.use_count() > 1) layer_ = std::make_shared<LayerProgram>(*layer_);
    return *layer_;
  }

 private:
  std::shared_ptr<LayerProgram> layer_;
};

}  // namespace pleat
