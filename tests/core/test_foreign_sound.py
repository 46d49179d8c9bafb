"""Speech models of transformers by their folder: a sound in, the maps of its moments out."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any, cast

import pytest
import torch

from mha_core import load_model
from mha_core.errors import DeviceError, HeadlightError, SizeError, WeightsFileError
from mha_core.pretrained import audio_processor, memory, offline, preprocessor, sound_file
from mha_core.pretrained.hf_model import HfModel
from tests.closeness import identical, relative_error, same_function

from . import sounds
from .tiny_models import check_refusals, edit

pytestmark = pytest.mark.numeric

SWITCHES = frozenset(("mask", "heads", "mlps", "layers", "temperature", "values"))
CAN = {
    "whisper": SWITCHES | {"positions"},
    "wav2vec2-conformer": SWITCHES - {"mlps"} | {"positions"},
    "wavlm": frozenset[str](),  # it hands its maps out, and computes them elsewhere
}


def plain(model: HfModel, samples: torch.Tensor, **more: Any) -> Any:
    """What the library itself makes of a sound: the folder opened by it anew, its own features, its own pass."""
    assert model.folder is not None
    library: Any = offline.transformers()
    family = model.hf_module.family
    kind = audio_processor.KINDS[family.config.model_type]
    extractor = getattr(library, kind.extractor).from_pretrained(model.folder)
    given = extractor(samples.float().numpy(), sampling_rate=sounds.RATE, return_tensors="pt")[kind.input_name]
    module = family.kind.from_pretrained(model.folder, attn_implementation="eager", dtype=model.dtype).eval()
    with torch.no_grad():
        return module(given.to(model.dtype), output_attentions=True, output_hidden_states=True, **more)


@pytest.mark.parametrize(
    "model_type",
    [
        name
        if name == "wav2vec2"
        else pytest.param(name, marks=pytest.mark.thorough("another model that reads sounds"))
        for name in audio_processor.KINDS
        if name != "whisper"
    ],
)
def test_a_run_is_the_models_own_pass(loaded: Any, model_type: str) -> None:
    model, samples = loaded(model_type, torch.float64), sounds.tone().float()
    run = model.run(samples)
    found = plain(model, samples)
    same_function(run.weights, torch.cat(found.attentions))
    same_function(run.hidden, torch.cat(found.hidden_states))
    assert run.tokens == [f"{place * 0.02:.2f} s" for place in range(29)]
    assert model.can == CAN.get(model_type, SWITCHES)
    assert (model.groups, model.own_mask, run.ends, run.key_tokens) == (("encoder",), "none", (0, 0), None)
    assert run.logits is None
    identical(run.extras.audio.samples, samples)
    assert (run.extras.audio.rate, run.extras.audio.step) == (16_000, 320)


def test_every_kind_of_attention_in_whisper_is_its_own_pass(loaded: Any) -> None:
    model, samples, target = loaded("whisper", torch.float64), sounds.tone().float(), [7, 8, 9]
    found = plain(model, samples, decoder_input_ids=torch.tensor([[1, *target]]))
    times = [f"{place * 0.02:.2f} s" for place in range(30)]  # of 50, silence behind them
    assert model.groups == ("encoder", "decoder", "cross")
    runs = {group: model.for_group(group).run(samples, target=target) for group in model.groups}
    own = {"encoder": found.encoder_attentions, "decoder": found.decoder_attentions, "cross": found.cross_attentions}
    for group, run in runs.items():
        whole = torch.cat(own[group])
        n = 4 if group == "decoder" else 30
        same_function(run.weights, whole[:, :, : run.weights.shape[2], :n])
        assert (run.extras.unassigned is None) == (group == "decoder")
        if run.extras.unassigned is not None:
            same_function(run.extras.unassigned, whole[:, :, : run.weights.shape[2], n:].sum(-1))
        assert model.for_group(group).can == CAN["whisper"]
        identical(run.extras.audio.samples, samples)
    assert runs["encoder"].tokens == runs["cross"].key_tokens == times
    assert runs["decoder"].tokens == runs["cross"].tokens == ["[CLS]", "fox", "jumps", "over"]
    same_function(runs["encoder"].hidden, torch.cat(found.encoder_hidden_states)[:, :30])
    same_function(runs["cross"].hidden, torch.cat(found.decoder_hidden_states))
    same_function(runs["cross"].logits, found.logits[:, -1])
    assert runs["encoder"].logits is None
    by_words = model.for_group("cross").run(samples, target="fox jumps over")
    same_function(by_words.weights, runs["cross"].weights)


def test_samples_of_every_width() -> None:
    samples = sounds.tone()
    for bits in (8, 16, 24, 32):
        read = sound_file.read(sounds.file(samples, bits=bits), sounds.RATE).double()
        in_file = (samples * 2 ** (bits - 1)).round() / 2 ** (bits - 1)
        identical(read, in_file.float().double())
        ends = torch.tensor([-1.0, 0.0, 1 - 2.0 ** (1 - bits)], dtype=torch.float64)
        identical(sound_file.read(sounds.file(ends, bits=bits), sounds.RATE), ends.float())


FLOATS = sounds.tone().numpy()


@pytest.mark.parametrize(
    ("file", "rounding"),
    [
        (sounds.header(form=3, bits=32, size=4 * 9600) + FLOATS.astype("<f4").tobytes(), 0),
        (sounds.header(form=3, bits=64, size=8 * 9600) + FLOATS.astype("<f8").tobytes(), 0),
        (sounds.header(size=2**32 - 1) + (FLOATS * 2**15).round().astype("<i2").tobytes() + b"\0", 2**-16),
        (sounds.header(size=2**31 - 1) + (FLOATS * 2**15).round().astype("<i2").tobytes(), 2**-16),
        (sounds.header(size=0) + (FLOATS * 2**15).round().astype("<i2").tobytes(), 2**-16),
    ],
    ids=["float32", "float64", "piped", "piped by sox", "not closed"],
)
def test_floats_and_files_of_unknown_length(file: bytes, rounding: float) -> None:
    read = sound_file.read(file, sounds.RATE)
    assert float((read - torch.from_numpy(FLOATS).float()).abs().max()) <= rounding, "a step of 16 bits"
    extended = file.replace(b"\x10\0\0\0" + file[20:22], b"\x28\0\0\0\xfe\xff", 1)
    subformat = b"\x16\0" + bytes(6) + file[20:22] + bytes.fromhex("000000001000800000aa00389b71")
    identical(sound_file.read(extended[:36] + subformat + file[36:], sounds.RATE), read)


@pytest.mark.parametrize(("form", "codes"), [(6, b"\xd5\x55\xaa\x2a\xc5"), (7, b"\xff\x7f\x80\x00\xbf")])
def test_samples_of_a_telephone(form: int, codes: bytes) -> None:
    expected = {6: [8, -8, 32256, -32256, 264], 7: [0, 0, 32124, -32124, 1980]}[form]  # of the tables of ITU-T G.711
    read = sound_file.read(sounds.header(form=form, bits=8, size=5) + codes, sounds.RATE)
    assert (read * 2**15).tolist() == expected


def test_channels_are_mixed_and_a_path_is_its_bytes(tmp_path: Path) -> None:
    left, right = ((sounds.tone(hertz=hertz) * 2**15).round() / 2**15 for hertz in (440, 300))
    both = sound_file.read(sounds.file(torch.stack([left, right], dim=1)), sounds.RATE)
    identical(both, ((left + right) / 2).float())
    (tmp_path / "a.mp3").write_bytes(sounds.file())
    identical(sound_file.read(tmp_path / "a.mp3", 16_000), sound_file.read(sounds.file(), 16_000))


def test_another_rate_gives_the_same_tone_and_nothing_above_half_of_it() -> None:
    inner = slice(1600, -1600)  # a sound that begins and ends at once rings there
    for rate in (8_000, 11_025, 44_100):
        found = sound_file.read(sounds.file(rate=rate), sounds.RATE).double()
        wanted = sounds.tone(len(found) / sounds.RATE)
        assert len(found) == -(-round(0.6 * rate) * sounds.RATE // rate), rate
        assert relative_error(found[inner], wanted[inner]) < 0.01, f"{rate}: a filter of finite length"
    for rate in (11_025, 44_100, 47_963):  # cut into blocks
        seconds = torch.arange(5 * rate, dtype=torch.float64) / rate
        found = sound_file.resample(torch.sin(2 * torch.pi * 440 * seconds), rate, sounds.RATE)
        wanted = torch.sin(2 * torch.pi * 440 * torch.arange(5 * sounds.RATE, dtype=torch.float64) / sounds.RATE)
        assert relative_error(found[inner], wanted[inner]) < 0.01, rate
    high = torch.sin(2 * torch.pi * 12_000 * torch.arange(48_000, dtype=torch.float64) / 48_000)
    low = sound_file.resample(high, 48_000, 16_000)[inner]
    assert float(low.norm() / high.norm()) < 0.01, "a filter of finite length"


WAV, header = sounds.file(), sounds.header
MANY_CHUNKS = b"RIFF" + struct.pack("<I", 2**21) + b"WAVE" + (b"junk" + bytes(4)) * 2**18
BAD: list[tuple[Any, str]] = [
    (b"not a sound", "is not a WAV sound; choose"),
    (b"RIFF\x00\x00\x00\x00WAVE", r"the sound is damaged \(error\); save the sound again as 16-bit PCM WAV"),
    (WAV[:-5000], "damaged: 7,100 of its 9,600 samples are there; save"),
    (header(), "the sound has no sample; choose another one"),
    (MANY_CHUNKS, "damaged: no samples in its first 64 chunks; save"),
    (header(form=2, bits=4, size=4) + bytes(4), r"neither integers nor floats \(format 2\); save"),
    (header(bits=64, size=8) + bytes(8), "have 64 bits, 8, 16, 24, 32 are read; save"),
    (header(form=3, bits=32, size=4) + b"\0\0\xc0\x7f", "holds numbers that are not finite"),
    (header(size=2**32 - 1) + bytes(2**20), "is 32.77 s long, at most"),
    (header(channels=999, size=4) + bytes(4), "has 999 channels, at most 32 are mixed"),
    (header(rate=4 * 10**9, size=4) + bytes(4), "has 4,000,000,000 samples a second"),
    (header(rate=191_999, size=4) + bytes(4), "has 191,999 samples a second, which is no usual rate; save"),
    (header(rate=1000, bits=8, size=30_001) + bytes(30_001), "is 30.01 s long, at most"),
    (bytes(20 * 2**20 + 1), "has 20,971,521 bytes, at most 20,971,520 are read; cut out a piece"),
    (Path("/nowhere/a.wav"), "cannot read the sound: No such file"),
    ("/etc/passwd", "a sound is bytes, a Path or a tensor, got str"),
    (torch.zeros(9, dtype=torch.int16), r"a sound is float \(n,\), got torch.int16 \(9,\)"),
    (torch.full((4000,), torch.nan), "not finite"),
    (torch.zeros(399), "of 0.025 s is too short for one token of this model; choose a longer one"),
]


def test_sounds_that_are_refused(loaded: Any) -> None:
    check_refusals(BAD, loaded("wav2vec2").run)


def test_the_shortest_and_the_longest_sound(loaded: Any) -> None:
    assert loaded("wav2vec2").run(torch.zeros(400)).tokens == ["0.00 s"]
    assert len(loaded("wav2vec2").preprocessor.read(torch.zeros(30 * 16_000)).tokens) == 1499
    assert loaded("whisper").run(torch.zeros(1)).tokens == ["0.00 s"]
    assert loaded("whisper").run(torch.zeros(16_000)).weights.shape[-2:] == (50, 50)
    with pytest.raises(SizeError, match=r"of 1\.01 s is longer than the 1\.00 s that are read; cut it"):
        loaded("whisper").run(torch.zeros(16_001))


NO_TOKEN = "conv_kernel, conv_stride make no token of a second"
BAD_SETTINGS: list[tuple[str, dict[str, Any], str]] = [
    (
        "whisper",
        {"auto_map": {"AutoFeatureExtractor": "own.Own"}, "feature_extractor_type": "Own"},
        "g.json asks for code",
    ),
    (
        "whisper",
        {"feature_extractor_type": "ClapFeatureExtractor"},
        "asks for a ClapFeatureExtractor; of these models are",
    ),
    ("whisper", {"dither": 0.1}, "asks for dither"),
    ("whisper", {"chunk_length": 3600}, "impossible sizes: chunk_length=3600; 1 to 30 is read"),
    ("whisper", {"hop_length": 1}, "cuts sounds into 16,000 pieces; at most 3,000"),
    ("whisper", {"chunk_length": 2}, "cannot be run on a sound: ValueError: Whisper expects the mel input"),
    ("whisper", {"padding_value": float("nan")}, "turns a sound into values that are not finite"),
    ("wav2vec2", {"sampling_rate": 10**9}, "impossible sizes: sampling_rate=1000000000; 1 to 48,000 is read"),
    ("wav2vec2", {"sampling_rate": 300}, NO_TOKEN),
]


def test_folders_that_are_refused(tmp_path: Path) -> None:
    good = {name: sounds.save(name, tmp_path / name) for name in ("whisper", "wav2vec2")}
    strides = ([1, 1, 1, 1, 1, 1, 0], [5, 2, 2, 2, 2, 2, 10**6])
    cases = [((name, preprocessor.FILE, changes), expected) for name, changes, expected in BAD_SETTINGS]
    cases += [(("wav2vec2", "config.json", {"conv_stride": one}), NO_TOKEN) for one in strides]

    def load_changed(case: tuple[str, str, dict[str, Any]]) -> None:
        file = good[case[0]] / case[1]
        before = file.read_text()
        edit(file, **case[2])
        try:
            load_model(str(file.parent), device="cpu")
        finally:
            file.write_text(before)

    check_refusals(cases, load_changed)


@pytest.mark.parametrize("model_type", ["whisper", "wav2vec2"])
def test_settings_that_a_processor_of_version_5_saved(model_type: str, tmp_path: Path) -> None:
    folder, library = sounds.save(model_type, tmp_path / "m"), cast(Any, offline.transformers())
    config = library.AutoConfig.from_pretrained(folder)
    expected = library.AutoFeatureExtractor.from_pretrained(folder)(
        sounds.tone().float().numpy(), sampling_rate=sounds.RATE, return_tensors="pt"
    )
    found = json.loads((folder / preprocessor.FILE).read_text())
    (folder / preprocessor.PROCESSOR).write_text(json.dumps({"feature_extractor": found, "auto_map": {"A": "own.Own"}}))
    (folder / preprocessor.FILE).write_text(json.dumps({"sampling_rate": 8_000}))  # the library prefers the other
    read = audio_processor.read(folder, config)
    identical(read.read(sounds.tone().float()).values, expected[audio_processor.KINDS[model_type].input_name])
    assert "code that processor_config.json names is not run" in "".join(read.notices)


def test_memory_and_missing_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = sounds.save("whisper", tmp_path / "m")
    required: list[tuple[int, str]] = []
    with monkeypatch.context() as noting:
        noting.setattr(memory, "require", lambda size, what, remedy: required.append((size, what)))
        model = load_model(str(folder), device="cpu")
    assert (2 * 4 * 50**2 * 26, "a sound of 50 tokens") in required, "the check wants room for the longest sound"
    with monkeypatch.context() as little:
        little.setattr(memory, "available", lambda: 300_000)
        with pytest.raises(DeviceError, match=r"30 tokens of .* needs 0 MB of memory.*or choose a smaller model"):
            model.run(sounds.file())
        decoder = cast(HfModel, model.for_group("decoder"))  # its encoder's maps are made too
        with pytest.raises(DeviceError, match=r"2 tokens of .* needs 0 MB of memory"):
            decoder.run(sounds.file(), target=[7])
    (folder / preprocessor.FILE).unlink()
    with pytest.raises(WeightsFileError, match=r"cannot read preprocessor_config\.json: it is missing"):
        load_model(str(folder), device="cpu")


def test_a_model_of_sounds_reads_no_text(loaded: Any) -> None:
    with pytest.raises(HeadlightError, match="this model reads sounds, not text; pass the bytes of one"):
        loaded("wav2vec2").tokenize("a dog")
    with pytest.raises(SizeError, match="no token"):
        loaded("whisper").tokenize("")
