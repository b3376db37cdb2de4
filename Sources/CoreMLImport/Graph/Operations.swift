/// Element-wise operations, constants of shapes, and types.
extension GraphBuilder {
    /// Adds an operation of one input that keeps type and shape: "Relu", "Exp", "Sigmoid".
    package func unary(
        _ type: String, _ opset: Int, _ value: Graph.Value,
        _ attributes: KeyValuePairs<String, Graph.Attribute> = [:]
    ) -> Graph.Value {
        operation(type, opset, [value], attributes, shape: value.shape)
    }

    /// Adds an operation of opset 1 with one input that keeps type and shape.
    package func unary(
        _ type: String, _ value: Graph.Value, _ attributes: KeyValuePairs<String, Graph.Attribute> = [:]
    ) -> Graph.Value {
        unary(type, 1, value, attributes)
    }

    /// Adds an operation of two inputs of one type, with numpy's broadcasting: "Add", "Power", "Less" (comparisons and
    /// logic return booleans).
    package func binary(_ type: String, _ opset: Int, _ left: Graph.Value, _ right: Graph.Value) throws(Problem)
        -> Graph.Value
    {
        let comparisons = [
            "Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual", "LogicalAnd", "LogicalOr",
            "LogicalXor",
        ]
        return operation(
            type, opset, [left, right], ["auto_broadcast": "numpy"],
            type: comparisons.contains(type) ? .boolean : left.type, shape: try broadcastShape(left.shape, right.shape))
    }

    /// Adds an operation of opset 1 with two inputs.
    package func binary(_ type: String, _ left: Graph.Value, _ right: Graph.Value) throws(Problem) -> Graph.Value {
        try binary(type, 1, left, right)
    }

    package func add(_ left: Graph.Value, _ right: Graph.Value) throws(Problem) -> Graph.Value {
        try binary("Add", 1, left, right)
    }
    package func subtract(_ left: Graph.Value, _ right: Graph.Value) throws(Problem) -> Graph.Value {
        try binary("Subtract", 1, left, right)
    }
    package func multiply(_ left: Graph.Value, _ right: Graph.Value) throws(Problem) -> Graph.Value {
        try binary("Multiply", 1, left, right)
    }
    package func divide(_ left: Graph.Value, _ right: Graph.Value) throws(Problem) -> Graph.Value {
        try binary("Divide", 1, left, right)
    }
    /// `value` times `factor`; the value itself if the factor is 1.
    package func scaled(_ value: Graph.Value, by factor: Float) throws(Problem) -> Graph.Value {
        factor == 1 ? value : try multiply(value, float(factor))
    }
    /// `value` plus `summand`; the value itself if the summand is 0.
    package func shifted(_ value: Graph.Value, by summand: Float) throws(Problem) -> Graph.Value {
        summand == 0 ? value : try add(value, float(summand))
    }

    /// `yes` where `condition` (boolean) holds, else `no`, element by element, with numpy's broadcasting.
    package func select(_ condition: Graph.Value, _ yes: Graph.Value, _ no: Graph.Value) throws(Problem) -> Graph.Value
    {
        operation(
            "Select", 1, [condition, yes, no], ["auto_broadcast": "numpy"], type: yes.type,
            shape: try broadcastShape(condition.shape, broadcastShape(yes.shape, no.shape)))
    }

    /// Converts the elements to another type; returns the value itself if it has that type. Floats are truncated to
    /// integers.
    package func convert(_ value: Graph.Value, to type: Graph.ElementType) -> Graph.Value {
        value.type == type
            ? value
            : operation(
                "Convert", 1, [value], ["destination_type": .text(type.rawValue)], type: type, shape: value.shape)
    }

    /// The extents, as a list of i64.
    package func shape(of value: Graph.Value) -> Graph.Value {
        operation("ShapeOf", 3, [value], ["output_type": "i64"], type: .i64, shape: [value.rank])
    }

    /// Clamps the values. Throws if a limit is NaN, or the limits are reversed.
    package func clamp(_ value: Graph.Value, from lower: Float, to upper: Float) throws(Problem) -> Graph.Value {
        guard lower <= upper else { throw Problem("values cannot be limited to \(lower)...\(upper)") }
        let limit = Float.greatestFiniteMagnitude
        return operation(
            "Clamp", 1, [value],
            ["min": .float(Swift.max(lower, -limit)), "max": .float(Swift.min(upper, limit))], shape: value.shape)
    }
}

/// The shape of the result of numpy's broadcasting. Throws if extents do not match.
package func broadcastShape(_ left: [Int?], _ right: [Int?]) throws(Problem) -> [Int?] {
    let rank = max(left.count, right.count)
    var shape: [Int?] = []
    for axis in 0..<rank {
        let (first, second) = (axis - rank + left.count, axis - rank + right.count)
        if first < 0 {
            shape.append(right[second])
        } else if second < 0 {
            shape.append(left[first])
        } else {
            switch (left[first], right[second]) {
            case (let one?, let other?) where one == other || other == 1: shape.append(one)
            case (1, let other): shape.append(other)
            case (let one, 1): shape.append(one)
            case (nil, let other): shape.append(other)
            case (let one, nil): shape.append(one)
            default: throw Problem("the shapes \(shapeText(left)) and \(shapeText(right)) cannot be broadcast together")
            }
        }
    }
    return shape
}

/// A shape in the format of messages: `[1,3,?,?]`.
package func shapeText(_ shape: [Int?]) -> String {
    "[" + shape.map { $0.map(String.init) ?? "?" }.joined(separator: ",") + "]"
}

/// The index of an axis, counted from the front. Throws if it is out of range for `rank` axes.
package func positiveAxis(_ axis: Int, rank: Int) throws(Problem) -> Int {
    guard axis >= -rank, axis < rank else { throw Problem("axis \(axis) is out of range: the value has \(rank) axes") }
    return axis < 0 ? axis + rank : axis
}
