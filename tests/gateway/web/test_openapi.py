import json

from mqgateway.gateway.web.api.routes import ROUTES
from mqgateway.gateway.web.openapi import document
from mqgateway.gateway.web.route import REQUIRED, Role


def test_every_route_is_in_the_document() -> None:
    made = json.loads(json.dumps(document(ROUTES, "1.2")))
    assert made["info"]["version"] == "1.2"
    operations = [
        (path, method, operation) for path, of in made["paths"].items() for method, operation in of.items()
    ]
    assert len(operations) == len(ROUTES)
    assert len({operation["operationId"] for _, _, operation in operations}) == len(ROUTES)
    for route in ROUTES:
        operation = made["paths"][route.path][route.method.lower()]
        named = {one["name"]: one for one in operation["parameters"]}
        assert set(named) == {*route.names, *(field.name for field in route.query)}
        assert all(named[field.name]["required"] is (field.default is REQUIRED) for field in route.query)
        assert bool(operation["security"]) is (route.role is not Role.NOBODY)
        if route.body:
            schema = operation["requestBody"]["content"]["application/json"]["schema"]
            assert set(schema["properties"]) == {field.name for field in route.body}
