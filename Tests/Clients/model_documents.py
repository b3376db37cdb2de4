"""Checks the OpenAPI documents of single models with tools of other people.

usage: model_documents.py URL PICTURE NAME...

For each model: the document is valid OpenAPI 3.1, all its paths have the model's name, each `$ref` resolves, and the answer of each route that takes
a picture, or the values of the model's inputs as zeros, fits its schema.
"""
import json
import sys
import urllib.parse
import urllib.request

import jsonschema
from openapi_spec_validator import validate

URL, PICTURE, NAMES = sys.argv[1], sys.argv[2], sys.argv[3:]


def get(path):
    with urllib.request.urlopen(URL + path) as answer:
        return json.load(answer)


def post(path, body, kind):
    request = urllib.request.Request(URL + path, body, {"Content-Type": kind})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def references(value):
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for member in value.values():
            yield from references(member)
    elif isinstance(value, list):
        for element in value:
            yield from references(element)


def fits(document, schema, value):
    jsonschema.Draft202012Validator({**schema, "components": document["components"]}).validate(value)


def zeros(schema):
    """A value that a schema allows."""
    if "anyOf" in schema:
        return zeros(schema["anyOf"][-1])
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "array":
        return [zeros(schema["items"])] * schema.get("minItems", 1)
    return {"number": 0, "integer": 0, "string": "", "boolean": False, "object": {}}[kind]


def check(name):
    path = "/v1/models/" + urllib.parse.quote(name, safe="")
    document = get(path + "/openapi.json")
    validate(document)
    assert document["openapi"].startswith("3.1"), document["openapi"]
    assert document["info"]["title"] == name
    quoted = "/" + urllib.parse.quote(name, safe="")
    for other in document["paths"]:
        assert quoted in other and "{name}" not in other, other
    for reference in references(document):
        place = document
        for part in reference.lstrip("#/").split("/"):
            place = place[part]
    asked = 0
    for task in ("classify", "detect", "segment", "keypoints", "embed", "read", "predict"):
        operation = document["paths"].get(f"{path}/{task}", {}).get("post")
        if operation is None:
            continue
        schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
        content = operation["requestBody"]["content"]
        if "application/octet-stream" in content:
            with open(PICTURE, "rb") as file:
                answer = post(f"{path}/{task}", file.read(), "application/octet-stream")
        else:
            inputs = document["components"]["schemas"]["inputs"]
            if any("b64" in json.dumps(one) for one in inputs["properties"].values()):
                continue
            body = {"inputs": {key: zeros(inputs["properties"][key]) for key in inputs["required"]}}
            fits(document, content["application/json"]["schema"], body)
            answer = post(f"{path}/{task}", json.dumps(body).encode(), "application/json")
            for wrong in ({"inputs": {**body["inputs"], "unknown": 1}}, {"inputs": {}}):
                try:
                    fits(document, document["components"]["schemas"]["inputs"], wrong["inputs"])
                except jsonschema.ValidationError:
                    continue
                raise AssertionError(f"{name}: the schema allows {wrong}")
        # The answer itself, not an explanation, whose schema allows everything.
        own = [one for one in schema["anyOf"] if not one.get("$ref", "").endswith("explanation")]
        fits(document, {"anyOf": own}, answer)
        if task == "predict":
            fits(document, {"$ref": "#/components/schemas/outputs"}, answer["outputs"])
        asked += 1
    return asked, document


for one in NAMES:
    count, described = check(one)
    print(one, count, len(json.dumps(described)), sorted(described["paths"])[:1])
