"""What tokens cost: prices are data, charges are what a response is billed as. No I/O but the price files."""
