# SPDX-License-Identifier: Apache-2.0
"""A small transformers Qwen3 with the operators swapped in gives the loss and the gradients of the model as it was."""
import copy

import pytest
import torch

transformers = pytest.importorskip("transformers", reason="transformers is not installed")
import swap_qwen3  # noqa: E402  (needs transformers)

EVERYTHING = tuple(f for f in swap_qwen3.FUSIONS if f != "rope")  # qk_norm_rope holds it


def small_model(device):
    config = transformers.Qwen3Config(
        hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        head_dim=64, vocab_size=120, tie_word_embeddings=False, use_cache=False, attn_implementation="sdpa")
    return transformers.Qwen3ForCausalLM(config).to(device).train()


def loss_and_gradients(model, ids):
    model.zero_grad()
    loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    return loss.detach(), {name: p.grad.clone() for name, p in model.named_parameters()}


@pytest.mark.parametrize("fusions", [(f,) for f in swap_qwen3.FUSIONS] + [EVERYTHING],
                         ids=lambda f: "everything" if len(f) > 1 else f[0])
def test_loss_and_gradients_stay(device, fusions):
    model = small_model(device)
    ids = torch.randint(0, 120, (2, 17), device=device)
    before = copy.deepcopy(model.state_dict())
    loss, gradients = loss_and_gradients(model, ids)
    swap_qwen3.swap(model, fusions)
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name]), name
    fused_loss, fused = loss_and_gradients(model, ids)
    torch.testing.assert_close(fused_loss, loss, rtol=1e-5, atol=1e-6)
    for name, gradient in gradients.items():
        torch.testing.assert_close(fused[name], gradient, rtol=1e-3, atol=1e-5, msg=lambda m, n=name: f"{n}: {m}")


def test_an_optimizer_made_before_still_steps(device):
    model = small_model(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    swap_qwen3.swap(model, EVERYTHING)
    ids = torch.randint(0, 120, (1, 9), device=device)
    loss, _ = loss_and_gradients(model, ids)
    optimizer.step()
    assert loss_and_gradients(model, ids)[0] < loss


@pytest.mark.parametrize("fusions", [("rms_norm", "swiglu"), ("qk_norm_rope", "attention"), ("rope", "qkv_projection")],
                         ids=lambda f: f[0])
def test_generates_the_same_tokens(device, fusions):
    model = small_model(device).eval()
    ids = torch.randint(0, 120, (1, 9), device=device)
    generate = lambda: model.generate(ids, max_new_tokens=6, do_sample=False, use_cache=True, pad_token_id=0)
    want = generate()
    swap_qwen3.swap(model, fusions)
    assert torch.equal(generate(), want)


def test_residual_norms_refuse_a_cache(device):
    model = swap_qwen3.swap(small_model(device).eval(), ("add_rms_norm",))
    with pytest.raises(ValueError, match="add_rms_norm: expected no cache"):
        model.generate(torch.randint(0, 120, (1, 9), device=device), max_new_tokens=6, use_cache=True, pad_token_id=0)


@pytest.mark.parametrize("positions", [False, True])
def test_compiled_attention_is_causal_without_a_mask(device, positions):
    """But for given positions, which may hold several sequences."""
    model, graphs = swap_qwen3.swap(small_model(device), EVERYTHING), []
    ids = torch.randint(0, 120, (1, 17), device=device)
    given = {"position_ids": torch.arange(17, device=device)[None]} if positions else {}
    want = model(input_ids=ids, labels=ids, **given).loss

    def keep(graph, _):
        graphs.append(graph)
        return graph

    torch._dynamo.reset()
    have = torch.compile(model, backend=keep)(input_ids=ids, labels=ids, **given).loss
    torch.testing.assert_close(have, want)
    calls = [node for graph in graphs for node in graph.graph.nodes if "fusescope.attention" in str(node.target)]
    assert len(calls) == 2 and all((node.args[3] is not None) == positions for node in calls)


def test_the_loss_of_a_batch_in_parts(device):
    """As transformers' Trainer asks for it: divided by the number of labels in all parts."""
    model, ids = small_model(device), torch.randint(0, 120, (2, 9), device=device)
    with torch.no_grad():
        want = model(input_ids=ids, labels=ids, num_items_in_batch=50).loss
        swap_qwen3.swap(model, ("linear_cross_entropy",))
        for items in (50, torch.tensor(50, device=device)):
            torch.testing.assert_close(model(input_ids=ids, labels=ids, num_items_in_batch=items).loss, want)
        with pytest.raises(ValueError, match="expected labels"):
            model(input_ids=ids)


def test_refuses_an_unknown_fusion():
    with pytest.raises(ValueError, match="expected some of"):
        swap_qwen3.swap(torch.nn.Module(), ("rms_norm", "norms"))
