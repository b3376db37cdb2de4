extension InterfaceSpecification {
    /// Reads the description from the beginning of a file, without the model; nil if it is missing or incomplete.
    /// - Parameter head: the first bytes of the file. In practice they hold all fields before the model.
    package static func peek(_ head: Bytes) -> InterfaceSpecification? {
        var reader = MessageReader(head)
        // Ignore errors here: loading the file reports them.
        while let field = try? reader.next(), field.number < 200 {
            if field.number == 2 { return try? InterfaceSpecification(field.message()) }
        }
        return nil
    }

    /// True if the model takes one picture and returns classes.
    package var classifiesPictures: Bool {
        guard inputs.count == 1, case .image = inputs[0].type else { return false }
        return !predictedFeatureName.isEmpty
    }
}
