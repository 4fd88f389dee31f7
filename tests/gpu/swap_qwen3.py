# SPDX-License-Identifier: Apache-2.0
"""Swaps the operators into a transformers Qwen3ForCausalLM, one fusion at a time or together.

The modules keep their parameters; only forward functions are replaced, so a state dict and an optimizer made before
stay valid.
"""
import types

import torch
import torch.nn.functional as F
from transformers.models.qwen3 import modeling_qwen3 as qwen3

FUSIONS = ("rms_norm", "add_rms_norm", "qk_norm_rope", "rope", "attention", "swiglu", "qkv_projection",
           "gate_up_projection", "linear_cross_entropy")


def swap(model, fusions, fast=False, loss_mode="auto"):
    """Replaces the forward functions that `fusions` names. `rms_norm` covers every norm that no other fusion takes."""
    unknown = set(fusions) - set(FUSIONS)
    if unknown:
        raise ValueError(f"expected some of {FUSIONS}, found {sorted(unknown)}")
    ops = torch.ops.fusescope

    def norm(self, x):
        return ops.rms_norm(x, self.weight, self.variance_epsilon, fast)

    def mlp(self, x):
        if "gate_up_projection" in fusions:
            packed = ops.packed_projection(x, [self.gate_proj.weight, self.up_proj.weight])
            if "swiglu" in fusions:
                return self.down_proj(ops.swiglu_packed(packed, fast))
            gate, up = packed.chunk(2, -1)
            return self.down_proj(self.act_fn(gate) * up)
        return self.down_proj(ops.swiglu(self.gate_proj(x), self.up_proj(x), fast))

    for module in model.modules():
        if "rms_norm" in fusions and isinstance(module, qwen3.Qwen3RMSNorm):
            module.forward = types.MethodType(norm, module)
        if {"swiglu", "gate_up_projection"} & set(fusions) and isinstance(module, qwen3.Qwen3MLP):
            if "gate_up_projection" in fusions:
                _side_by_side(module.gate_proj, module.up_proj)
            module.forward = types.MethodType(mlp, module)
        attention_fusions = {"qk_norm_rope", "rope", "attention", "qkv_projection"}
        if attention_fusions & set(fusions) and isinstance(module, qwen3.Qwen3Attention):
            if "qkv_projection" in fusions:
                _side_by_side(module.q_proj, module.k_proj, module.v_proj)
            module.forward = types.MethodType(_attention(fusions, fast), module)
    if "add_rms_norm" in fusions:
        model.model.forward = types.MethodType(_layers_with_residual(fast), model.model)
    if "linear_cross_entropy" in fusions:
        model.forward = types.MethodType(_causal_lm(loss_mode), model)
    return model


def _side_by_side(*layers):
    """The layers' weights become rows of one tensor, so that one product covers them; they stay parameters apart."""
    if any(layer.bias is not None for layer in layers):
        raise ValueError("expected projections without bias")
    merged, row = torch.cat([layer.weight.detach() for layer in layers]), 0
    for layer in layers:
        layer.weight.data = merged[row:row + layer.out_features]
        row += layer.out_features


def _attend(module, q, k, v, mask, scaling, **_):
    """As transformers' attention functions: without a mask the model is causal, and a single query sees every key."""
    if mask is not None and mask.dim() != 4:
        raise ValueError("attention: expected the mask of the sdpa or eager attention, with four dimensions")
    causal = mask is None and module.is_causal and q.shape[2] > 1
    return torch.ops.fusescope.attention(q, k, v, mask, causal, scaling).transpose(1, 2), None


def _attention(fusions, fast):
    ops = torch.ops.fusescope

    def forward(self, hidden_states, position_embeddings, attention_mask=None, past_key_values=None, cache=None, **kwargs):
        shape = (*hidden_states.shape[:-1], -1, self.head_dim)
        layers = self.q_proj, self.k_proj, self.v_proj
        if "qkv_projection" in fusions:
            projected = ops.qkv_projection_separate(hidden_states, *(layer.weight for layer in layers))
        else:
            projected = [layer(hidden_states) for layer in layers]
        q, k, v = (t.view(shape) for t in projected)
        v = v.transpose(1, 2)
        cos, sin = position_embeddings
        if "qk_norm_rope" in fusions:
            q, k = ops.qk_norm_rope(q, k, self.q_norm.weight, self.k_norm.weight, cos, sin,
                                    self.q_norm.variance_epsilon, fast)
            q, k = q.transpose(1, 2), k.transpose(1, 2)
        else:
            q, k = self.q_norm(q).transpose(1, 2), self.k_norm(k).transpose(1, 2)
            q, k = ops.rope(q, k, cos, sin, 1, fast) if "rope" in fusions else qwen3.apply_rotary_pos_emb(q, k, cos, sin)
        cache = past_key_values if cache is None else cache  # one thing; its name is the transformers version's
        if cache is not None:
            k, v = cache.update(k, v, self.layer_idx)
        attend = _attend if "attention" in fusions else qwen3.ALL_ATTENTION_FUNCTIONS.get_interface(
            self.config._attn_implementation, qwen3.eager_attention_forward)
        out, weights = attend(self, q, k, v, attention_mask, dropout=0.0, scaling=self.scaling,
                              sliding_window=self.sliding_window, **kwargs)
        return self.o_proj(out.reshape(*hidden_states.shape[:-1], -1).contiguous()), weights

    return forward


def _layers_with_residual(fast):
    """The decoder with every residual addition taken into the norm after it, across the borders of layers. For training:
    it keeps no keys and values for the tokens that follow."""
    ops = torch.ops.fusescope

    def forward(self, input_ids=None, attention_mask=None, position_ids=None, inputs_embeds=None, **kwargs):
        if kwargs.get("past_key_values") is not None or kwargs.get("cache") is not None:
            raise ValueError("add_rms_norm: expected no cache of keys and values (use_cache=False)")
        x = self.embed_tokens(input_ids) if inputs_embeds is None else inputs_embeds
        # Only positions that are given may hold several sequences. A graph that is compiled cannot look at them, and
        # transformers makes a mask there that costs attention several times its own time.
        causal = attention_mask is None and position_ids is None and self.config._attn_implementation == "sdpa"
        if position_ids is None:
            position_ids = torch.arange(x.shape[1], device=x.device)[None]
        mask = None if causal else qwen3.create_causal_mask(
            config=self.config, inputs_embeds=x, attention_mask=attention_mask, past_key_values=None,
            position_ids=position_ids)
        tables = self.rotary_emb(x, position_ids)

        def add_norm(x, residual, norm):
            return ops.add_rms_norm(x, residual, norm.weight, norm.variance_epsilon, fast)

        residual = x
        x = self.layers[0].input_layernorm(x)
        for i, layer in enumerate(self.layers):
            x, _ = layer.self_attn(hidden_states=x, position_embeddings=tables, attention_mask=mask)
            x, residual = add_norm(x, residual, layer.post_attention_layernorm)
            x = layer.mlp(x)
            last = i + 1 == len(self.layers)
            x, residual = add_norm(x, residual, self.norm if last else self.layers[i + 1].input_layernorm)
        return qwen3.BaseModelOutputWithPast(last_hidden_state=x)

    return forward


def _causal_lm(mode):
    ops = torch.ops.fusescope

    def forward(self, input_ids=None, labels=None, num_items_in_batch=None, **kwargs):
        if labels is None:
            raise ValueError("linear_cross_entropy: expected labels: the loss is all that is computed")
        x = self.model(input_ids=input_ids, **kwargs).last_hidden_state
        labels = F.pad(labels, (0, 1), value=-100)[..., 1:].reshape(-1)
        loss = ops.linear_cross_entropy(x.reshape(-1, x.shape[-1]), self.lm_head.weight, labels, num_items_in_batch,
                                        mode=mode)
        return qwen3.CausalLMOutputWithPast(loss=loss)

    return forward
