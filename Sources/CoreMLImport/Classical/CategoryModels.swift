/// The categories of a model and the index of each, in the order of the file.
struct CategoryList: Sendable {
    let categories: [Category]
    private let places: [Category: Int]

    init(_ message: Message, strings: Int, integers: Int) throws(Problem) {
        categories = try ClassifierOutputs.labels(message, strings: strings, integers: integers)
        guard !categories.isEmpty else { throw Problem("has no categories") }
        var places: [Category: Int] = [:]
        // Duplicates have the index of the first one.
        for (place, category) in categories.enumerated() where places[category] == nil { places[category] = place }
        self.places = places
    }

    func place(of category: Category) -> Int? { places[category] }

    /// The first categories, as text for messages.
    var listed: String {
        let shown = categories.prefix(10).map { "\"\($0)\"" }.joined(separator: ", ")
        return categories.count > 10 ? shown + " and \(categories.count - 10) more" : shown
    }

    /// The value as a category. A number is a category if it is an integer.
    func category(_ data: FeatureData?, feature: String) throws(EvaluationError) -> Category {
        switch (data, categories[0]) {
        case (.string(let text)?, .string): return .string(text)
        case (.int64(let number)?, .int64): return .int64(number)
        case (.double(let number)?, .int64):
            if let whole = Int64(exactly: number) { return .int64(whole) }
        case (.array(let array)?, .int64):
            if array.values.count == 1, let whole = Int64(exactly: array.values[0]) { return .int64(whole) }
        default: break
        }
        let expected = if case .string = categories[0] { "a string" } else { "an integer" }
        throw EvaluationError("expected \(expected), found \(data?.kind ?? "nothing")", feature: feature)
    }
}

/// A category as a vector of zeros with a one at the category's place (OneHotEncoder.proto).
struct OneHotEncoder: ClassicalModel {
    private let list: CategoryList
    private let isSparse: Bool, ignoresUnknown: Bool
    var sampleCategory: Category? { list.categories.first }
    private let input: FeatureSpecification, output: FeatureSpecification

    init(_ message: Message, _ description: InterfaceSpecification) throws(Problem) {
        list = try CategoryList(message, strings: 1, integers: 2)
        isSparse = try message.bool(10)
        ignoresUnknown = try message.integer(11) == 1
        input = try description.onlyInput()
        output = try description.onlyOutput()
    }

    func evaluate(_ table: FeatureTable) throws(EvaluationError) -> FeatureTable {
        let category = try list.category(table[input.name], feature: input.name)
        let place = list.place(of: category)
        guard place != nil || ignoresUnknown else {
            throw EvaluationError(
                "\"\(category)\" is not a category that the model knows; it knows \(list.listed)", feature: input.name)
        }
        if isSparse {
            let keys = place.map { [Category.int64(Int64($0))] } ?? []
            return [output.name: .dictionary(CategoryNumbers(keys: keys, values: keys.map { _ in 1 }))]
        }
        var vector = [Double](repeating: 0, count: list.categories.count)
        if let place { vector[place] = 1 }
        return [output.name: .array(NumberArray(vector))]
    }
}

/// A dictionary as a vector: each number at the index of its key; unknown keys are ignored (DictVectorizer.proto).
struct DictVectorizer: ClassicalModel {
    private let list: CategoryList
    var sampleCategory: Category? { list.categories.first }
    private let input: FeatureSpecification, output: FeatureSpecification

    init(_ message: Message, _ description: InterfaceSpecification) throws(Problem) {
        list = try CategoryList(message, strings: 1, integers: 2)
        input = try description.onlyInput()
        output = try description.onlyOutput()
    }

    func evaluate(_ table: FeatureTable) throws(EvaluationError) -> FeatureTable {
        guard case .dictionary(let numbers)? = table[input.name] else {
            throw EvaluationError(
                "expected a dictionary, found \(table[input.name]?.kind ?? "nothing")", feature: input.name)
        }
        if case .dictionary = output.type {
            var sparse = CategoryNumbers(keys: [], values: [])
            for (key, value) in zip(numbers.keys, numbers.values) {
                guard let place = list.place(of: key) else { continue }
                sparse.keys.append(.int64(Int64(place)))
                sparse.values.append(value)
            }
            return [output.name: .dictionary(sparse)]
        }
        var vector = [Double](repeating: 0, count: list.categories.count)
        for (key, value) in zip(numbers.keys, numbers.values) {
            if let place = list.place(of: key) { vector[place] = value }
        }
        return [output.name: .array(NumberArray(vector))]
    }
}

/// Maps a category to another one: strings to integers, or integers to strings (CategoricalMapping.proto).
struct CategoricalMapping: ClassicalModel {
    private let map: [Category: Category]
    private let unknown: Category?
    private let takesStrings: Bool
    var sampleCategory: Category? { map.keys.min() }
    private let input: FeatureSpecification, output: FeatureSpecification

    init(_ message: Message, _ description: InterfaceSpecification) throws(Problem) {
        var map: [Category: Category] = [:]
        if let list = try message.message(1) {
            takesStrings = true
            for entry in try list.messages(1) {
                map[.string(try entry.string(1))] = .int64(Int64(try entry.integer(2)))
            }
            unknown = message.has(102) ? .int64(Int64(try message.integer(102))) : nil
        } else if let list = try message.message(2) {
            takesStrings = false
            for entry in try list.messages(1) {
                map[.int64(Int64(try entry.integer(1)))] = .string(try entry.string(2))
            }
            unknown = message.has(101) ? .string(try message.string(101)) : nil
        } else {
            throw Problem("has no mapping")
        }
        self.map = map
        input = try description.onlyInput()
        output = try description.onlyOutput()
    }

    func evaluate(_ table: FeatureTable) throws(EvaluationError) -> FeatureTable {
        let category: Category
        switch table[input.name] {
        case .string(let text)? where takesStrings: category = .string(text)
        case .int64(let number)? where !takesStrings: category = .int64(number)
        case .double(let number)? where !takesStrings && Int64(exactly: number) != nil:
            category = .int64(Int64(exactly: number) ?? 0)
        case let other:
            throw EvaluationError(
                "expected \(takesStrings ? "a string" : "an integer"), found \(other?.kind ?? "nothing")",
                feature: input.name)
        }
        guard let value = map[category] ?? unknown else {
            let known = map.keys.sorted().prefix(10).map { "\"\($0)\"" }.joined(separator: ", ")
            throw EvaluationError(
                "\"\(category)\" is not a category that the model knows; it knows \(known)\(map.count > 10 ? " and more" : "")",
                feature: input.name)
        }
        return [output.name: value.data]
    }
}
