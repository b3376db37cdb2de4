"""Compares what the `huggingface_hub` package gets from hub_server.py with what `ocelli pull` gets: the server must be an honest one.

TEST_BINARY is the program."""
import os
import pathlib
import subprocess
import tempfile

work = pathlib.Path(tempfile.mkdtemp(prefix="ocelli-hub-"))
os.environ |= {"HF_HOME": str(work / "home"), "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}

import hub_server

hub = hub_server.Hub(work / "hub")
os.environ["HF_ENDPOINT"] = hub.url
files = {"config.json": b"{}", "preprocessor_config.json": b'{"a": 1}', "onnx/model.onnx": bytes(range(256)) * 999, "README.md": b"x"}
folder = work / "hub/org/net"
for name, contents in files.items():
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(contents)
(folder / ".hub.json").write_text('{"token": "hf_secret"}')

# After HF_ENDPOINT is set: the package reads it when it is imported.
from huggingface_hub import HfApi, hf_hub_download

info = HfApi(endpoint=hub.url, token="hf_secret").model_info("org/net", revision="main", files_metadata=True)
stated = {file.rfilename: (file.size, file.lfs.sha256 if file.lfs else None, file.blob_id) for file in info.siblings}
assert info.sha == hub_server.commit(folder), info.sha
assert set(stated) == set(files), stated
assert all(stated[name][0] == len(contents) for name, contents in files.items()), stated
assert stated["onnx/model.onnx"][1] and not stated["config.json"][1], stated
for name, contents in files.items():
    path = hf_hub_download("org/net", name, revision=info.sha, endpoint=hub.url, token="hf_secret")
    assert pathlib.Path(path).read_bytes() == contents, name
listed = {request["path"] for request in hub.requests}
assert all(request["authorization"] is None for request in hub.requests if request["server"] == "cdn"), hub.requests

# The addresses that `ocelli pull` asks for are among those of the package, which asks for some of them with HEAD first.
hub.requests.clear()
subprocess.run(
    [os.environ["TEST_BINARY"], "pull", "org/net", "--models", work / "models"], check=True, env=os.environ | {"HF_TOKEN": "hf_secret"}
)
pulled = {str(path.relative_to(work / "models/net")): path.read_bytes() for path in (work / "models/net").rglob("*") if path.is_file()}
pulled.pop(".ocelli-pull.json")
assert pulled == {name: contents for name, contents in files.items() if name != "README.md"}, set(pulled)
asked = {request["path"] for request in hub.requests}
assert asked <= listed, asked - listed
print("the same")
