# SPDX-License-Identifier: Apache-2.0
"""What the GPU's clock and power were while something ran, from NVML: products of matrices at a GPU's power limit take
their time from that limit, and two machines of one model differ there."""
import ctypes
import statistics
import threading
import time

import torch

_SM_CLOCK = 1  # nvmlClockType_t: NVML_CLOCK_SM
_SOFTWARE_POWER_CAP = 0x4  # nvmlClocksEventReasonSwPowerCap


class Watch:
    """Reads the clock every 5 ms between enter and exit. `reading` is then {"sm_MHz", "watts", "power_capped"}: the
    median clock, the mean power from NVML's count of energy, and the share of the readings in which the power limit held
    the clock down; None where there is no NVML."""

    def __init__(self):
        self.reading = None
        self._clocks, self._capped, self._end = [], 0, threading.Event()
        try:
            self._nvml = ctypes.CDLL("libnvidia-ml.so.1")
            self._device = ctypes.c_void_p()
            uuid = f"GPU-{torch.cuda.get_device_properties(torch.cuda.current_device()).uuid}"
            self._ask("nvmlInit_v2")
            self._ask("nvmlDeviceGetHandleByUUID", uuid.encode(), ctypes.byref(self._device))
        except (OSError, RuntimeError) as error:
            print(f"clock and power are not known: {error}")
            self._nvml = None

    def _ask(self, function, *arguments):
        if code := getattr(self._nvml, function)(*arguments):
            raise RuntimeError(f"{function} answers with code {code}")

    def _value(self, function, kind, *arguments):
        value = kind()
        self._ask(function, self._device, *arguments, ctypes.byref(value))
        return value.value

    def _read(self):
        while not self._end.wait(0.005):
            self._clocks.append(self._value("nvmlDeviceGetClockInfo", ctypes.c_uint, _SM_CLOCK))
            reasons = self._value("nvmlDeviceGetCurrentClocksThrottleReasons", ctypes.c_ulonglong)
            self._capped += bool(reasons & _SOFTWARE_POWER_CAP)

    def _energy(self):
        return self._value("nvmlDeviceGetTotalEnergyConsumption", ctypes.c_ulonglong) / 1000  # millijoules

    def __enter__(self):
        if self._nvml:
            self._thread = threading.Thread(target=self._read, daemon=True)
            self._began, self._joules = time.perf_counter(), self._energy()
            self._thread.start()
        return self

    def __exit__(self, *_):
        if not self._nvml:
            return
        watts = (self._energy() - self._joules) / (time.perf_counter() - self._began)
        self._end.set()
        self._thread.join()
        if self._clocks:
            self.reading = {"sm_MHz": round(statistics.median(self._clocks)), "watts": round(watts),
                            "power_capped": round(self._capped / len(self._clocks), 2)}
