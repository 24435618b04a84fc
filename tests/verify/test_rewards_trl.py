"""The reward in the real trl: GRPOTrainer with a tiny model made here.  Skipped where trl is not installed (it needs torch)."""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path
from typing import Any

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    trl = pytest.importorskip("trl", reason="trl is not installed; it is no dependency of orpipe")
    from datasets import Dataset
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM
    from trl import GRPOConfig, GRPOTrainer

from orpipe import rewards

pytestmark = pytest.mark.filterwarnings("ignore")

BREAD = """```python
import json, pulp
d = json.load(open("data.json"))
m = pulp.LpProblem("bread", pulp.LpMaximize)
rye = pulp.LpVariable("rye", lowBound=0)
oat = pulp.LpVariable("oat", lowBound=0, upBound=4)
m += 3 * rye + 2 * oat
m += rye + 2 * oat <= d["flour"], "flour"
m.solve()
```"""
TEMPLATE = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
PROMPT = "How much?\n\n**data.json**\n```json\n{\"flour\": 10}\n```"


def tokenizer() -> Any:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    special = ["<pad>", "<|end|>", "<|user|>", "<|assistant|>"]
    raw = Tokenizer(models.BPE(vocab={token: k for k, token in enumerate([*special, *alphabet])}, merges=[]))
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    from tokenizers import decoders

    raw.decoder = decoders.ByteLevel()
    made = PreTrainedTokenizerFast(tokenizer_object=raw, pad_token="<pad>", eos_token="<|end|>", additional_special_tokens=special[2:])
    made.chat_template = TEMPLATE
    return made


def trainer(folder: Path, rows: list[dict[str, Any]], function: Any, **settings: Any) -> Any:
    words = tokenizer()
    model = Qwen2ForCausalLM(Qwen2Config(vocab_size=len(words), hidden_size=16, intermediate_size=16, num_hidden_layers=1,
                                         num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=512))
    arguments = GRPOConfig(output_dir=str(folder), use_cpu=True, bf16=False, max_steps=1, num_generations=2, report_to=[], logging_steps=1,
                           per_device_train_batch_size=4, max_completion_length=8, save_strategy="no", disable_tqdm=True, **settings)
    return GRPOTrainer(model=model, reward_funcs=[function], args=arguments, train_dataset=Dataset.from_list(rows), processing_class=words)


OURS = {"prompt": [{"role": "user", "content": PROMPT}], "status": "optimal", "objective": 30.0, "objective_exact": "30", "files": "{}",
        "dialect": "pulp"}
ROWS = [
    OURS, OURS | {"objective": 31.0, "objective_exact": "31"},
    OURS | {"status": "infeasible", "objective": None, "objective_exact": None, "files": json.dumps({"data.json": '{"flour": -1}'})},
    OURS | {"prompt": [{"role": "user", "content": "State the model."}], "dialect": ""},
]


@pytest.mark.slow
def test_trl_calls_the_reward_with_rows_of_our_own_dataset(tmp_path: Path) -> None:
    function = rewards.optimum_reward(workers=2, timeout=60)
    made = trainer(tmp_path, ROWS, function)
    assert made.reward_func_names == ["optimum"]
    for completions in ([[{"role": "assistant", "content": BREAD}]] * 4, [BREAD] * 4):
        made._pending_extra_logs.clear()
        found = made._calculate_rewards(ROWS, [r["prompt"] for r in ROWS], completions, [[1]] * 4)
        assert found.shape == (4, 1)
        values = found[:, 0].tolist()
        assert values[:3] == [1.0, 0.0, 1.0] and math.isnan(values[3])
        assert made._pending_extra_logs["optimum_verdict"] == ["SAME_OPTIMUM", "WRONG_OPTIMUM", "SAME_OPTIMUM", "UNDECIDED"]
    rewards.close()


@pytest.mark.slow
def test_trl_trains_a_step_on_it(tmp_path: Path) -> None:
    function = rewards.optimum_reward(workers=2, timeout=60, shaping=0.1)
    made = trainer(tmp_path, ROWS, function)
    calls: list[list[float | None]] = []

    class Watched(rewards.OptimumReward):
        def __call__(self, prompts: Any = None, completions: Any = None, **columns: Any) -> list[float | None]:
            calls.append(super().__call__(prompts, completions, **columns))
            return calls[-1]

    made.reward_funcs[0] = Watched(function.settings)
    made.train()
    assert calls and all(r in (0.0, None) for call in calls for r in call)  # noise is no program
    logged = next(entry for entry in made.state.log_history if "rewards/optimum/mean" in entry)
    assert logged["rewards/optimum/mean"] == 0.0 and "optimum_undecided" in str(logged)
    rewards.close()
