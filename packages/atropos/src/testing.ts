// Test doubles that environment authors use too.
export {}
