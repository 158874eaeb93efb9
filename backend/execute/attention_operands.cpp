// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/execute/attention_operands.hpp"

namespace pleat::execute {

AttentionOperands packed_operands(const OpAttributes& a, View qkv, View kv) {
  const std::int64_t d = a.head_dim, dv = a.v_dim, share = a.heads / a.kv_groups;
  const bool own = kv.data == nullptr;
  const View x = own ? qkv : kv;
  const std::int64_t first = own ? a.heads * d : 0;
  AttentionOperands o;
  o.q[0] = {.x = qkv, .first = 0, .stride = d, .width = d};
  o.k[0] = {.x = x, .first = first, .stride = d, .width = d, .share = share};
  o.v = {.x = x, .first = first + a.kv_groups * d, .stride = dv, .width = dv, .share = share};
  return o;
}

AttentionOperands latent_operands(const OpAttributes& a, View q, View kv, View kpe) {
  const std::int64_t dn = a.nope_dim, dr = a.rope_dim, dv = a.v_dim;
  AttentionOperands o;
  o.q[0] = {.x = q, .first = 0, .stride = dn + dr, .width = dn};
  o.q[1] = {.x = q, .first = dn, .stride = dn + dr, .width = dr};
  o.k[0] = {.x = kv, .first = 0, .stride = dn + dv, .width = dn};
  o.k[1] = {.x = kpe, .first = kpe.cols - dr, .stride = 0, .width = dr};
  o.v = {.x = kv, .first = dn, .stride = dn + dv, .width = dv};
  return o;
}

AttentionOperands whole_key_operands(const OpAttributes& a, View q, View kv) {
  const std::int64_t d = a.nope_dim + a.rope_dim, dv = a.v_dim;
  AttentionOperands o;
  o.q[0] = {.x = q, .first = 0, .stride = d, .width = d};
  o.k[0] = {.x = kv, .first = 0, .stride = d + dv, .width = d};
  o.v = {.x = kv, .first = d, .stride = d + dv, .width = dv};
  return o;
}

HeadColumns head_outputs(const OpAttributes& a, View o) {
  return {.x = o, .first = 0, .stride = a.v_dim, .width = a.v_dim};
}

}  // namespace pleat::execute
