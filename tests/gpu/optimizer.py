# SPDX-License-Identifier: Apache-2.0
"""torch.optim.AdamW that steps with the operator `adamw_`."""
import torch
from torch.utils._foreach_utils import _group_tensors_by_device_and_dtype as by_device_and_dtype


class FusedAdamW(torch.optim.AdamW):
    """Takes the place of torch.optim.AdamW(..., fused=True): the same names and layout of states, so that a state_dict of
    one loads into the other, and on CUDA the same bits. Parameters and gradients of a tensor lie in memory alike.

    Not taken over: amsgrad, tensors as lr or betas, sparse and complex parameters. With a torch.amp.GradScaler the
    gradients stay scaled after the step."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, *, maximize=False):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize, fused=True)

    def add_param_group(self, param_group):
        self._check({**self.defaults, **param_group})
        super().add_param_group(param_group)

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            self._check(group)
            group["fused"] = True  # states of another implementation: `step` belongs beside its parameter
            for p in group["params"]:
                if p in self.state and torch.is_tensor(self.state[p].get("step")):
                    self.state[p]["step"] = self.state[p]["step"].to(device=p.device, dtype=torch.float32)

    @staticmethod
    def _check(group):
        if group["amsgrad"]:
            raise ValueError("FusedAdamW: expected amsgrad=False, found True: there is no kernel for it")
        if any(torch.is_tensor(value) for value in (group["lr"], *group["betas"])):
            raise ValueError("FusedAdamW: expected lr and betas as numbers, found a tensor")

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            self._check(group)
            lists = [], [], [], [], [], []  # params, grads, exp_avgs, exp_avg_sqs, of amsgrad, steps
            if self._init_group(group, *lists):
                raise ValueError("FusedAdamW: expected real parameters, found complex ones")
            params, grads, exp_avgs, exp_avg_sqs, _, steps = lists
            for (device, _), (tensors, _) in by_device_and_dtype([params, grads, exp_avgs, exp_avg_sqs, steps]).items():
                self._step_on(device, group, *tensors)
        return loss

    def _step_on(self, device, group, params, grads, exp_avgs, exp_avg_sqs, steps):
        # A GradScaler leaves these here.
        grad_scale, found_inf = (
            None if t is None else t.to(device, non_blocking=True)
            for t in (getattr(self, "grad_scale", None), getattr(self, "found_inf", None)))
        torch._foreach_add_(steps, 1)
        beta1, beta2 = group["betas"]
        torch.ops.fusescope.adamw_(
            params, grads, exp_avgs, exp_avg_sqs, steps, lr=group["lr"], beta1=beta1, beta2=beta2, eps=group["eps"],
            weight_decay=group["weight_decay"], maximize=group["maximize"], grad_scale=grad_scale, found_inf=found_inf)
        if found_inf is not None:
            torch._foreach_sub_(steps, [found_inf] * len(steps))
