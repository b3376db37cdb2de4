import sys
p=sys.argv[1]+'/Sources/InferenceService/OpenAPI/openapi.json'
s=open(p).read()
def op(name, ids, summary, ok, schema=None, params='', body='', created=None):
    one=lambda code,text: f'''        "{code}": {{"description": "{text}"''' + (f''', "content": {{"application/json": {{"schema": {{"$ref": "#/components/schemas/{schema}"}}}}}}}}''' if schema else '}')
    answers=[one(200 if schema else 204, ok)]
    if created: answers.append(one(201, created))
    return f'''    "{name}": {{
      "tags": ["taught models"], "ids": ["{ids}"], "summary": "{summary}",
'''+(f'      "parameters": [{params}],\n' if params else '')+(body and f'      "requestBody": {body},\n')+'''      "responses": {
'''+',\n'.join(answers)+'''
      }
    },
'''
label=lambda need: '\n        {"name": "label", "in": "query", "required": %s, "schema": {"type": "string", "minLength": 1, "maxLength": 256}, "description": "The class."}' % need
ref=lambda n: '{"$ref": "#/components/parameters/%s"}' % n
creation='{"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/taught_creation"}}}}'
pictures='''{
        "required": true,
        "content": {
          "image/*": {"schema": {"type": "string", "format": "binary"}},
          "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
          "multipart/form-data": {
            "schema": {
              "type": "object", "required": ["image"],
              "properties": {
                "image": {"type": "array", "minItems": 1, "items": {"type": "string", "format": "binary"}}
              }
            },
            "encoding": {"image": {"contentType": "image/*, application/octet-stream"}}
          }
        }
      }'''
ops=(op('taught_models','taught_models','All taught models','All of them.','taught_list')
 +op('taught_model','taught_model','One taught model','It.','taught')
 +op('create_taught_model','create_taught_model','Create a taught model','It is there already.','taught',body=creation,created='It was created.')
 +op('delete_taught_model','delete_taught_model','Delete a taught model with all that it was taught','It is gone.')
 +op('examples','examples','What a taught model was taught','The examples.','taught_examples',params=label('false')+'\n      ')
 +op('teach','teach','Teach one picture or several','Nothing was new.','taught',params=label('false')+',\n        '+', '.join(ref(n) for n in ['crop','orientation','page','timeout'])+'\n      ',body=pictures,created='Something was new.')
 +op('forget_example','forget_example','Forget one example','The model without it.','taught')
 +op('forget_class','forget_class','Forget a class','The model without it.','taught',params=label('true')+'\n      ')
 +op('serve_taught_version','serve_taught_version','Serve another version that is kept','The model as it serves now.','taught'))
s=s.replace('    "server_metadata": {\n',ops+'    "server_metadata": {\n',1)
s=s.replace('{"name": "models"}, {"name": "operations"},','{"name": "models"}, {"name": "taught models"},\n    {"name": "operations"},',1)
i=s.index('      "version": {', s.index('"parameters": {\n'))
s=s[:i]+'''      "id": {
        "name": "id", "in": "path", "required": true, "schema": {"type": "string", "pattern": "^[0-9a-fA-F]{64}$"},
        "description": "The SHA-256 of the picture's bytes."
      },
'''+s[i:]
schemas='''      "taught_creation": {
        "type": "object", "required": ["embedder"],
        "properties": {
          "embedder": {"type": "string", "description": "The name of a model that answers /embed."},
          "method": {"type": "string", "enum": ["auto", "nearest_mean", "logistic", "nearest_neighbors"], "default": "auto"}
        }
      },
      "taught_list": {
        "type": "object", "required": ["taught"],
        "properties": {
          "taught": {"type": "array", "items": {"$ref": "#/components/schemas/taught"}},
          "unreadable": {
            "type": "array", "description": "Those whose files cannot be read.",
            "items": {
              "type": "object", "required": ["name", "reason"],
              "properties": {"name": {"type": "string"}, "reason": {"type": "string"}}
            }
          }
        }
      },
      "taught_evaluation": {
        "type": "object", "nullable": true,
        "required": [
          "version", "by", "method", "examples", "correct", "accuracy", "interval", "confusions", "threshold", "advice"
        ],
        "properties": {
          "version": {"type": "string"}, "by": {"type": "string", "enum": ["leave_one_out", "10_fold"]},
          "method": {"type": "string", "enum": ["nearest_mean", "logistic", "nearest_neighbors"]},
          "examples": {"type": "integer", "description": "Those that were left out once."},
          "correct": {"type": "integer"}, "accuracy": {"type": "number", "nullable": true},
          "interval": {
            "type": "array", "nullable": true, "minItems": 2, "maxItems": 2, "items": {"type": "number"},
            "description": "Wilson's, at 95 %."
          },
          "confusions": {
            "type": "array",
            "items": {
              "type": "object", "required": ["label", "as", "count"],
              "properties": {"label": {"type": "string"}, "as": {"type": "string"}, "count": {"type": "integer"}}
            }
          },
          "threshold": {"type": "number", "nullable": true, "description": "The greatest distance of a known picture."},
          "advice": {"type": "string", "nullable": true}
        }
      },
      "taught": {
        "type": "object",
        "required": [
          "name", "embedder", "dimension", "method", "version", "versions", "state", "classes", "evaluating", "evaluation"
        ],
        "properties": {
          "name": {"type": "string"},
          "embedder": {
            "type": "object", "required": ["model", "version", "digest"],
            "properties": {"model": {"type": "string"}, "version": {"type": "string"}, "digest": {"type": "string"}}
          },
          "dimension": {"type": "integer"},
          "method": {"type": "string", "enum": ["auto", "nearest_mean", "logistic", "nearest_neighbors"]},
          "version": {"type": "string", "nullable": true, "description": "The one that serves; null without examples."},
          "versions": {
            "type": "array",
            "items": {
              "type": "object", "required": ["version", "examples", "method", "evaluation"],
              "properties": {
                "version": {"type": "string"}, "examples": {"type": "integer"}, "method": {"type": "string"},
                "evaluation": {"$ref": "#/components/schemas/taught_evaluation"}
              }
            }
          },
          "state": {"type": "string", "enum": ["empty", "ready", "stale"]},
          "reason": {"type": "string", "description": "Why it is stale, and what to do."},
          "classes": {
            "type": "array",
            "items": {
              "type": "object", "required": ["label", "examples", "accuracy"],
              "properties": {
                "label": {"type": "string"}, "examples": {"type": "integer"},
                "accuracy": {"type": "number", "nullable": true}
              }
            }
          },
          "evaluating": {"type": "boolean", "description": "True until the version that serves has its evaluation."},
          "evaluation": {"$ref": "#/components/schemas/taught_evaluation"},
          "added": {
            "type": "array", "description": "What became of the pictures of this request.",
            "items": {
              "type": "object", "required": ["id", "label", "new"],
              "properties": {
                "id": {"type": "string"}, "label": {"type": "string"}, "new": {"type": "boolean"},
                "moved": {"type": "boolean", "description": "If it was known under another label."}
              }
            }
          },
          "errors": {"type": "array", "items": {"$ref": "#/components/schemas/part_error"}}
        }
      },
      "taught_examples": {
        "type": "object", "required": ["examples"],
        "properties": {
          "examples": {
            "type": "array",
            "items": {
              "type": "object", "required": ["id", "label", "added"],
              "properties": {
                "id": {"type": "string"}, "label": {"type": "string"}, "added": {"type": "string", "format": "date-time"}
              }
            }
          }
        }
      },
'''
s=s.replace('      "server_metadata": {\n        "type"',schemas+'      "server_metadata": {\n        "type"',1)
assert '"taught_examples": {\n        "type"' in s
open(p,'w').write(s)
import json; json.loads(s)
