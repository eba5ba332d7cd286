"""Looking after the warehouse file: purge, publish, export, health."""
