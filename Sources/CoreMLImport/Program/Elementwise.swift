/// Element-wise arithmetic, comparisons and logic.
extension ProgramOperations {
    static let elementwise: [String: Translator] = [
        "abs": kept("Abs"),
        "acos": unary("Acos"),
        "asin": unary("Asin"),
        "atan": unary("Atan"),
        "atanh": unary("Atanh", 4),
        "ceil": unary("Ceiling"),
        "cos": unary("Cos"),
        "cosh": unary("Cosh"),
        "erf": unary("Erf"),
        "exp": unary("Exp"),
        "floor": unary("Floor"),
        "sign": kept("Sign"),
        "sin": unary("Sin"),
        "sinh": unary("Sinh"),
        "sqrt": unary("Sqrt"),
        "tan": unary("Tan"),
        "identity": { call throws(Problem) in [try call.value("x")] },
        "round": { call throws(Problem) in
            [call.graph.rounded(try call.float("x"))]
        },
        "exp2": { call throws(Problem) in
            [try call.graph.binary("Power", call.graph.float(2), call.float("x"))]
        },
        "square": { call throws(Problem) in
            let x = try call.value("x")
            return [try call.graph.multiply(x, x)]
        },
        "clip": { call throws(Problem) in
            [try call.graph.clamp(call.value("x"), from: limit(call, "alpha"), to: limit(call, "beta"))]
        },
        "threshold": { call throws(Problem) in
            let (x, graph) = (try call.value("x"), call.graph)
            return [try graph.binary("Maximum", x, graph.convert(graph.float(limit(call, "alpha")), to: x.type))]
        },
        "inverse": { call throws(Problem) in
            [try call.graph.inverse(call.graph.shifted(call.float("x"), by: call.number("epsilon", default: 1e-4)))]
        },
        "log": { call throws(Problem) in
            let sum = try call.graph.shifted(
                call.float("x"), by: call.number("epsilon", default: .leastNonzeroMagnitude))
            return [call.graph.unary("Log", sum)]
        },
        "rsqrt": { call throws(Problem) in
            let sum = try call.graph.shifted(call.float("x"), by: call.number("epsilon", default: 1e-12))
            return [try call.graph.inverse(call.graph.unary("Sqrt", sum))]
        },
        "cast": cast,
        "add": binary("Add"),
        "sub": binary("Subtract"),
        "mul": binary("Multiply"),
        "maximum": binary("Maximum"),
        "minimum": binary("Minimum"),
        "mod": binary("FloorMod"),
        "real_div": asFloats { graph, x, y throws(Problem) in try graph.divide(x, y) },
        "pow": asFloats { graph, x, y throws(Problem) in try graph.binary("Power", x, y) },
        "floor_div": asFloats { graph, x, y throws(Problem) in graph.unary("Floor", try graph.divide(x, y)) },
        "equal": binary("Equal"),
        "not_equal": binary("NotEqual"),
        "greater": binary("Greater"),
        "greater_equal": binary("GreaterEqual"),
        "less": binary("Less"),
        "less_equal": binary("LessEqual"),
        "logical_and": logical("LogicalAnd"),
        "logical_or": logical("LogicalOr"),
        "logical_xor": logical("LogicalXor"),
        "logical_not": { call throws(Problem) in
            [call.graph.unary("LogicalNot", try call.graph.truth(call.value("x")))]
        },
        "select": { call throws(Problem) in
            let (yes, no) = unified(call.graph, try call.value("a"), try call.value("b"))
            return [try call.graph.select(call.graph.truth(call.value("cond")), yes, no)]
        },
    ]

    /// An operation that accepts integers as well.
    private static func kept(_ type: String) -> Translator {
        { call throws(Problem) in [call.graph.unary(type, 1, try call.value("x"))] }
    }

    private static func binary(_ type: String) -> Translator {
        { call throws(Problem) in
            let (x, y) = unified(call.graph, try call.value("x"), try call.value("y"))
            return [try call.graph.binary(type, 1, x, y)]
        }
    }

    private static func logical(_ type: String) -> Translator {
        { call throws(Problem) in
            let (x, y) = (try call.graph.truth(call.value("x")), try call.graph.truth(call.value("y")))
            return [try call.graph.binary(type, 1, x, y)]
        }
    }

    /// Arithmetic for which the engine needs floats: integers are converted, and the result is converted back.
    private static func asFloats(
        _ body: @escaping @Sendable (GraphBuilder, Graph.Value, Graph.Value) throws(Problem) -> Graph.Value
    ) -> Translator {
        { call throws(Problem) in
            let (graph, x, y) = (call.graph, try call.value("x"), try call.value("y"))
            let result = try body(graph, graph.convert(x, to: .f32), graph.convert(y, to: .f32))
            return [x.type.isFloat || y.type.isFloat ? result : graph.convert(result, to: x.type)]
        }
    }

    /// Converts two values to one type: floats if one of them has floats.
    static func unified(_ graph: GraphBuilder, _ x: Graph.Value, _ y: Graph.Value) -> (Graph.Value, Graph.Value) {
        let type = widest([x, y])
        return (graph.convert(x, to: type), graph.convert(y, to: type))
    }

    /// The type that can hold the elements of all values.
    static func widest(_ values: [Graph.Value]) -> Graph.ElementType {
        let order: [Graph.ElementType] = [.f32, .i64, .i32, .boolean]
        return order.first { type in values.contains { $0.type == type } } ?? .f32
    }

    private static func cast(_ call: ProgramCall) throws(Problem) -> [Graph.Value] {
        let (x, type) = (try call.value("x"), try call.text("dtype"))
        switch type {
        case "fp16", "fp32", "fp64": return [call.graph.convert(x, to: .f32)]
        case "bool": return [try call.graph.truth(x)]
        case "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64":
            return [call.graph.convert(x, to: .i32)]
        default: throw Problem("unknown type \"\(type)\"", at: "dtype")
        }
    }
}
